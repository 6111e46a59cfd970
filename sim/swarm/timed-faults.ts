/**
 * Faults of the world around the agent that last for a while and then end. Of the project's list of faults: F3, F5, F7
 * to F9, F12, F14, F17, F22 to F24, F27, F28, F38 and F41. Those of single calls are F1, F2, F10, F15, F16, F24, F28
 * and F29.
 */
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { pods } from "../../src/api/resources.ts";
import { kindOf } from "../fake-api-server/kinds.ts";
import { MANIFESTS } from "../kubelet.ts";
import type { SimNode } from "../sim-node.ts";
import type { World } from "../world.ts";
import { install } from "../world-files.ts";
import type { Coverage } from "./coverage.ts";
import type { Draw } from "./draw.ts";
import type { Supervisor } from "./supervisor.ts";
import type { Workload } from "./workload.ts";

export interface TimedFaultParts {
  readonly world: World;
  readonly node: SimNode;
  readonly supervisor: Supervisor;
  readonly workload: Workload;
  readonly coverage: Coverage;
  readonly draw: Draw;
  /** Calls `act` when a hook has been running for a moment. */
  readonly inHook: (act: () => void) => void;
}

/** Starts the fault; returns how to end it, if it lasts. */
type Begin = (parts: TimedFaultParts) => (() => void) | undefined;

/** A fault that ends as soon as it has happened. */
const atOnce =
  (happens: (parts: TimedFaultParts) => void): Begin =>
  (parts) => {
    happens(parts);
    return undefined;
  };

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

export const TIMED_FAULTS = {
  agentKill: atOnce(({ supervisor, draw, inHook }) => {
    if (draw.chance(0.3)) inHook(() => supervisor.kill());
    else supervisor.kill();
  }),
  agentStop: atOnce(({ supervisor }) => supervisor.stop()),
  machineCrash: ({ supervisor, node, coverage }) => {
    if (mountsOfPods(node).length > 0) coverage.note("the machine restarted with volumes mounted");
    supervisor.killMachine();
    return undefined;
  },
  runtimeKill: ({ node }) => {
    node.runtime.kill();
    return () => node.runtime.restart();
  },
  runtimeHang: ({ node }) => {
    node.runtime.pause();
    return () => node.runtime.resume();
  },
  /** Every operation of the runtime takes long. */
  runtimeSlow: ({ node, draw }) => {
    const before = node.runtime.knobs.durations;
    const slowMs = () => draw.whole(500, 5_000);
    node.runtime.knobs.durations = { runSandboxMs: slowMs(), createContainerMs: slowMs(), startContainerMs: slowMs() };
    return () => {
      node.runtime.knobs.durations = before;
    };
  },
  networkFails: ({ node }) => {
    node.runtime.knobs.network = { ready: true, addError: "no address is free" };
    return () => {
      node.runtime.knobs.network = { ready: true };
    };
  },
  /** Kills a process of a pod whose restart policy is Always: that of a container or that of its sandbox. */
  processKill: atOnce(({ node, draw, world, coverage }) => {
    const goesOn = new Set(
      [...world.api.store.values(kindOf(pods))]
        .map((object) => object as unknown as Pod)
        .filter(({ spec }) => spec?.restartPolicy === "Always")
        .map(({ metadata }) => metadata?.uid),
    );
    const ofContainers = [...node.runtime.containers.values()].filter(({ config }) =>
      goesOn.has(config.labels?.["io.kubernetes.pod.uid"]),
    );
    const ofSandboxes = [...node.runtime.sandboxes.values()].filter(({ config }) => goesOn.has(config.metadata.uid));
    const pids = [...ofContainers, ...ofSandboxes].flatMap(({ process }) =>
      process === undefined || process.end !== undefined ? [] : [process.pid],
    );
    if (pids.length === 0) return;
    coverage.note("a process of a pod was killed");
    node.runtime.killProcess(draw.pick(pids));
  }),
  /** The manifest directory may contain files that are not manifests. */
  strayFiles: ({ node, draw }) => {
    const name = draw.pick(["half.json", "notes.txt", ".hidden", "list.yaml"]);
    const text = draw.pick(['{"apiVersion": "v1", "kind": "Po', "", "\0\0\0", "a: *b"]);
    install(node.files, `${MANIFESTS}/${name}`, text);
    return undefined;
  },
  eventsBreak: atOnce(({ node }) => node.runtime.breakEvents()),
  apiAway: ({ world }) => {
    world.api.leave();
    return () => world.api.comeBack();
  },
  watchesBreak: atOnce(({ world }) => world.api.breakWatches()),
  historyGone: ({ world }) => {
    world.api.forgetHistory();
    world.api.breakWatches();
    return undefined;
  },
  clockJumps: atOnce(({ world, draw }) =>
    world.clock.jumpWall(draw.pick([-HOUR_MS, -40 * SECOND_MS, 7 * SECOND_MS, HOUR_MS])),
  ),
  diskFull: ({ node }) => {
    const { disk } = node.files;
    disk.freeBytes = 0;
    return () => {
      disk.freeBytes = Number.POSITIVE_INFINITY;
    };
  },
  diskReadOnly: ({ node }) => {
    const reads = new Set(["facts", "list", "read", "readHead", "readTail", "readLink"]);
    node.files.faultFor = ({ operation }) => (reads.has(operation) ? undefined : { code: "readOnly", effect: "none" });
    return () => {
      node.files.faultFor = () => undefined;
    };
  },
  registryAway: ({ world }) => {
    world.registry.setAway("registry.example", true);
    return () => world.registry.setAway("registry.example", false);
  },
  mountBusy: ({ node, draw }) => {
    const mounts = mountsOfPods(node);
    if (mounts.length === 0) return undefined;
    const path = draw.pick(mounts);
    node.mounts.busy.add(path);
    return () => void node.mounts.busy.delete(path);
  },
  /** For example, the directory of a server that has died. */
  directoryDead: ({ node, draw, workload }) => {
    const path = draw.pick([...workload.hostDirectories, ...workload.disks.map((disk) => disk.path)]);
    node.mounts.dead.add(path);
    return () => void node.mounts.dead.delete(path);
  },
} as const satisfies Readonly<Record<string, Begin>>;

export type TimedFault = keyof typeof TIMED_FAULTS;

export const mountsOfPods = ({ files }: SimNode): readonly string[] =>
  files.disk.mounts.all.map(({ path }) => path).filter((path) => path.startsWith("/var/lib/kubelet/pods/"));

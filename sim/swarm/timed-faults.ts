/** What goes wrong with the world around the agent for a while, and then is right again. */
import type { SimNode } from "../sim-node.ts";
import type { World } from "../world.ts";
import type { Draw } from "./draw.ts";
import type { Sometimes } from "./sometimes.ts";
import type { Supervisor } from "./supervisor.ts";
import type { Workload } from "./workload.ts";

export interface TimedFaultParts {
  readonly world: World;
  readonly node: SimNode;
  readonly supervisor: Supervisor;
  readonly workload: Workload;
  readonly sometimes: Sometimes;
  readonly draw: Draw;
}

/** Begins it; answers with how it ends, where it lasts. */
type Begin = (parts: TimedFaultParts) => (() => void) | undefined;

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

export const TIMED_FAULTS = {
  agentKill: ({ supervisor }) => void supervisor.kill(),
  agentStop: ({ supervisor }) => void supervisor.stop(),
  machineCrash: ({ supervisor, node, sometimes }) => {
    if (mountsOfPods(node).length > 0) sometimes.note("the machine restarted with volumes mounted");
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
  eventsBreak: ({ node }) => void node.runtime.breakEvents(),
  apiAway: ({ world }) => {
    world.api.leave();
    return () => world.api.comeBack();
  },
  watchesBreak: ({ world }) => void world.api.breakWatches(),
  historyGone: ({ world }) => {
    world.api.forgetHistory();
    world.api.breakWatches();
    return undefined;
  },
  clockJumps: ({ world, draw }) =>
    void world.clock.jumpWall(draw.pick([-HOUR_MS, -40 * SECOND_MS, 7 * SECOND_MS, HOUR_MS])),
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
  /** The folder of a server that has died, say. */
  folderDead: ({ node, draw, workload }) => {
    const path = draw.pick([...workload.hostFolders, ...workload.disks.map((disk) => disk.path)]);
    node.mounts.dead.add(path);
    return () => void node.mounts.dead.delete(path);
  },
} as const satisfies Readonly<Record<string, Begin>>;

export type TimedFault = keyof typeof TIMED_FAULTS;

export const mountsOfPods = ({ files }: SimNode): readonly string[] =>
  files.disk.mounts.all.map(({ path }) => path).filter((path) => path.startsWith("/var/lib/kubelet/pods/"));

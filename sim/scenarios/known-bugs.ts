/**
 * Known kubelet bugs in the life of pods, each as the small world in which it showed. Numbers are those of the
 * project's list of bugs. A scenario's name says what it guards against. Bugs about volumes are in `with-volumes.ts`.
 */
import type { Lease } from "../../src/api/gen/coordination-v1.ts";
import type { Container, Probe } from "../../src/api/gen/core-v1.ts";
import { leases, pods, secrets } from "../../src/api/resources.ts";
import { RuntimeError, type RuntimeErrorCode } from "../../src/ports/runtime-error.ts";
import { kindOf } from "../fake-api-server/kinds.ts";
import type { Stored } from "../fake-api-server/stored.ts";
import { type Behaviour, HEALTH_COMMAND, type Health } from "../fake-runtime/behaviour.ts";
import type { Fault, PortCall } from "../port-calls.ts";
import { UNTOLD } from "../volume-oracle.ts";
import { directoryAt } from "../workload/disk-view.ts";
import { app, container, endsAfter, execHook, exits, manifestOf, pod, SERVER, sidecar } from "../workload/pod.ts";
import { all, endedWith, isGone, isRunning, mirrorIs, named, noted, runsOf, startsAre, staticRuns } from "./ends.ts";
import type { Scenario, Stage } from "./scenario.ts";

export interface KnownBug extends Scenario {
  /** Number in the project's list of bugs. */
  readonly bug: number;
}

type Step = Scenario["steps"][number];

const create =
  (...made: Parameters<typeof pod>) =>
  (stage: Stage): void =>
    void stage.create(pod(...made));
const manifest =
  (file: string, behaviour: Behaviour | undefined) =>
  ({ writeManifest }: Stage): Promise<void> =>
    writeManifest(file, behaviour === undefined ? undefined : manifestOf(pod("static", app(behaviour))));
const startAgent = ({ node, agent }: Stage): void => (node.isRunning ? undefined : node.start(agent));
/** The agent is down from `fromMs` until `untilMs`. */
const agentAway = (fromMs: number, untilMs: number): readonly Step[] => [
  [fromMs, ({ node }) => node.crash()],
  [untilMs, startAgent],
];
const machineRestarts = (atMs: number): readonly Step[] => [
  [atMs, ({ node }) => node.crashMachine()],
  [atMs + 2_000, startAgent],
];

const answering = (...answers: readonly (readonly [fromMs: number, health: Health])[]): Behaviour => ({
  ...SERVER,
  answers: answers.map(([fromMs, health]) => ({ fromMs, health })),
});
const HTTP: Probe = { httpGet: { path: "/", port: 80 }, periodSeconds: 2, failureThreshold: 2 };
const EXEC: Probe = { exec: { command: [...HEALTH_COMMAND] }, periodSeconds: 2, failureThreshold: 2 };
const asksFor = (cpu: string): Partial<Container> => ({ resources: { requests: { cpu } } });

/** Runtime calls of these names take effect but return this error, for a while. */
const failing =
  (names: readonly string[], code: RuntimeErrorCode, [fromMs, untilMs]: readonly [number, number]) =>
  ({ port, name }: PortCall, nowMs: number): Fault | undefined =>
    port === "runtime" && names.includes(name) && nowMs >= fromMs && nowMs < untilMs
      ? { kind: "fail", effect: "done", error: new RuntimeError(name, code, "the reply was lost") }
      : undefined;

/** Every run of the containers of a pod, which may be gone. */
const recordsOf = (stage: Stage, uid: (stage: Stage) => string) => stage.oracle.records(uid(stage));

/** The last run of the pod's containers ended by `untilMs`. */
const endedBy =
  (uid: (stage: Stage) => string, untilMs: number) =>
  (stage: Stage): readonly string[] => {
    const end = recordsOf(stage, uid).at(-1)?.finishedWallNs;
    const startWallMs = stage.world.clock.trueWallMs() - stage.world.clock.monotonicMs();
    const endMs = end === undefined ? Number.POSITIVE_INFINITY : Number(end / 1_000_000n) - startWallMs;
    return endMs <= untilMs ? [] : [`it ran until ${endMs} ms, not ${untilMs} at the most`];
  };

const lastPhase =
  (uid: (stage: Stage) => string, phase: string) =>
  (stage: Stage): readonly string[] => {
    const last = stage.oracle.lastOf(uid(stage))?.status?.phase;
    return last === phase ? [] : [`it was last seen ${last}, not ${phase}`];
  };

const restartsAtLeast =
  (name: string, least: number) =>
  ({ pod: find }: Stage): readonly string[] => {
    const count = find(name)?.status?.containerStatuses?.[0]?.restartCount ?? 0;
    return count >= least ? [] : [`${name} was restarted ${count} times, not ${least}`];
  };

const runningNow = ({ node }: Stage, podName: string, containerName: string) =>
  [...node.runtime.containers.values()].filter(
    ({ state, config, sandboxId }) =>
      state === "running" &&
      config.metadata.name === containerName &&
      node.runtime.sandboxes.get(sandboxId)?.config.metadata.name === podName,
  );

const oneRuns =
  (podName: string, containerName = "app") =>
  (stage: Stage): readonly string[] => {
    const { length } = runningNow(stage, podName, containerName);
    return length === 1 ? [] : [`${length} of ${containerName} of ${podName} run`];
  };

const early = noted("early", { ...app({ ...SERVER, startMs: 800 }), terminationGracePeriodSeconds: 4 });
const overdue = noted("overdue", { ...app({}), activeDeadlineSeconds: 4, terminationGracePeriodSeconds: 8 });
const failsWhenAsked: Behaviour = { onSignal: { SIGTERM: { afterMs: 200, code: 1 } } };
const failed = noted("failed", { ...app(failsWhenAsked), restartPolicy: "Never" });
const rejected = noted("too-big", app(SERVER, asksFor("64")));
const stuck = noted("stuck", {
  ...app(SERVER, { lifecycle: { preStop: execHook({ onSignal: {} }) } }),
  terminationGracePeriodSeconds: 6,
});
const shrinking = noted("shrinking", { ...app({}), terminationGracePeriodSeconds: 30 });
const finished = noted("finished", { ...app(exits(2_000, 0)), restartPolicy: "Never" });
const raised = noted("raised", {});
const shown = new WeakMap<object, Stored>();
/** Saves the pod as it is now, so that `showAgain` can act as a lagging API server. */
const keepAsShown = ({ world }: Stage): void => {
  const stored = world.api.store.get(kindOf(pods), "default/raised");
  if (stored !== undefined) shown.set(world, stored);
};
const showAgain = ({ world }: Stage): void => {
  const stored = shown.get(world);
  if (stored !== undefined) world.api.store.put(kindOf(pods), stored);
};
/** For some of these pods the interrupted create completes, for others it does not. */
const HALF_MADE = ["a", "b", "c", "d", "e", "f", "g", "h"];
const secretBytes = Buffer.from([0xff, 0xfe, 0x00, 0x41, 0xc3, 0x28]);

export const knownBugs: readonly KnownBug[] = [
  {
    bug: 1,
    name: "a pod is deleted while it is first started",
    steps: [
      [3_000, early.step],
      [3_060, ({ remove }) => remove("early")],
    ],
    lastsMs: 40_000,
    wrong: isGone("early"),
  },
  {
    bug: 2,
    name: "a manifest is taken away and put back at once",
    steps: [
      [2_000, manifest("a.json", SERVER)],
      [8_000, manifest("a.json", undefined)],
      [8_300, manifest("a.json", SERVER)],
      [
        20_000,
        async (stage) => {
          await manifest("a.json", undefined)(stage);
          await manifest("a.json", SERVER)(stage);
        },
      ],
    ],
    lastsMs: 60_000,
    wrong: all(staticRuns(true), mirrorIs(true)),
  },
  {
    bug: 3,
    name: "a static pod that never started does not block the next of its name",
    steps: [
      [2_000, manifest("a.json", {})],
      [8_000, manifest("a.json", { ...SERVER, stdout: "two" })],
      [8_700, manifest("a.json", { ...SERVER, stdout: "three" })],
    ],
    lastsMs: 60_000,
    wrong: all(staticRuns(true), mirrorIs(true)),
  },
  {
    bug: 4,
    name: "a manifest changes while the API server is away from the start",
    before: ({ world }) => world.api.leave(),
    steps: [
      [2_000, manifest("a.json", SERVER)],
      [6_000, manifest("a.json", undefined)],
      [9_000, manifest("a.json", { ...SERVER, stdout: "two" })],
      [20_000, ({ world }) => world.api.comeBack()],
    ],
    lastsMs: 80_000,
    wrong: all(staticRuns(true), mirrorIs(true)),
  },
  {
    bug: 5,
    name: "the runtime goes while a static pod ends",
    steps: [
      [2_000, manifest("a.json", endsAfter(2_000))],
      [8_000, manifest("a.json", undefined)],
      [9_000, ({ node }) => node.runtime.kill()],
      [20_000, ({ node }) => node.runtime.restart()],
    ],
    lastsMs: 80_000,
    wrong: all(staticRuns(false), mirrorIs(false)),
  },
  {
    bug: 6,
    name: "a pod whose time is up is deleted while it ends",
    steps: [
      [3_000, overdue.step],
      [9_000, ({ remove }) => remove("overdue")],
    ],
    lastsMs: 60_000,
    wrong: all(isGone("overdue"), lastPhase(overdue.uid, "Failed")),
  },
  {
    bug: 7,
    name: "what is to be stopped is not there any more",
    steps: [
      [3_000, create("a")],
      [8_000, ({ remove }) => remove("a")],
    ],
    fault: failing(["StopContainer", "RemoveContainer", "StopPodSandbox"], "notFound", [8_000, 40_000]),
    lastsMs: 60_000,
    wrong: isGone("a"),
  },
  {
    bug: 8,
    name: "no event of the runtime arrives",
    before: ({ node }) => {
      node.runtime.knobs.events.isLost = () => true;
    },
    steps: [
      [3_000, create("once", { ...app(exits(4_000, 0)), restartPolicy: "Never" })],
      [3_001, create("again", app(exits(6_000, 1)))],
      [3_002, create("goes")],
      [9_000, ({ remove }) => remove("goes")],
    ],
    lastsMs: 150_000,
    wrong: all(endedWith("once", "Succeeded", 0), restartsAtLeast("again", 1), isGone("goes")),
  },
  {
    bug: 9,
    name: "a pod that fails when it is deleted has not succeeded",
    steps: [
      [3_000, failed.step],
      [8_000, ({ remove }) => remove("failed")],
    ],
    lastsMs: 40_000,
    wrong: all(isGone("failed"), lastPhase(failed.uid, "Failed")),
  },
  {
    bug: 10,
    name: "the agent dies between the end of a pod and its removal",
    steps: [
      [3_000, create("a", { ...app(endsAfter(500)), restartPolicy: "Never" })],
      [8_000, ({ remove }) => remove("a")],
      ...agentAway(8_540, 10_000),
    ],
    lastsMs: 40_000,
    wrong: isGone("a"),
  },
  {
    bug: 11,
    name: "a pod that does not fit comes and goes while the agent is away",
    steps: [
      [3_000, ({ node }) => node.crash()],
      [4_000, rejected.step],
      [5_000, ({ remove }) => remove("too-big")],
      [6_000, startAgent],
    ],
    lastsMs: 40_000,
    wrong: all(isGone("too-big"), (stage) =>
      recordsOf(stage, rejected.uid).length === 0 ? [] : ["it was started all the same"],
    ),
  },
  {
    bug: 12,
    name: "after a restart the room of finished pods is free",
    steps: [
      [3_000, create("done", { ...app(exits(1_000, 0), asksFor("3")), restartPolicy: "Never" })],
      ...agentAway(8_000, 9_000),
      [9_050, create("next", app(SERVER, asksFor("3")))],
    ],
    lastsMs: 40_000,
    wrong: all(endedWith("done", "Succeeded", 0), isRunning("next"), startsAre("done", 1)),
  },
  {
    bug: 13,
    name: "a terminated pod is not ready",
    steps: [
      [
        3_000,
        create("probed", {
          ...app({ ...exits(8_000, 0), answers: [{ fromMs: 0, health: 200 }] }, { readinessProbe: HTTP }),
          restartPolicy: "Never",
        }),
      ],
      [3_001, create("plain", { ...app(exits(6_000, 3)), restartPolicy: "Never" })],
    ],
    lastsMs: 40_000,
    wrong: all(endedWith("probed", "Succeeded", 0), endedWith("plain", "Failed", 3)),
  },
  {
    bug: 14,
    name: "a hook that never ends and its container share one grace",
    steps: [
      [3_000, stuck.step],
      [10_000, ({ remove }) => remove("stuck")],
    ],
    lastsMs: 40_000,
    // The pod's grace period, the minimum grace of a stop, and two seconds.
    wrong: all(isGone("stuck"), endedBy(stuck.uid, 20_000)),
  },
  {
    bug: 15,
    name: "a shorter grace takes the place of the longer one",
    steps: [
      [3_000, shrinking.step],
      [8_000, ({ remove }) => remove("shrinking")],
      [10_000, ({ remove }) => remove("shrinking", 3)],
    ],
    lastsMs: 60_000,
    wrong: all(isGone("shrinking"), endedBy(shrinking.uid, 17_000)),
  },
  {
    bug: 16,
    name: "creates and starts are done and their replies lost",
    steps: [[3_000, create("a")]],
    fault: failing(["CreateContainer", "StartContainer", "RunPodSandbox"], "deadlineExceeded", [3_000, 9_000]),
    lastsMs: 60_000,
    wrong: all(isRunning("a"), oneRuns("a")),
  },
  {
    bug: 17,
    name: "a create that was cut short keeps its name, for good or until it is done",
    before: ({ node }) => {
      node.runtime.knobs.durations = { runSandboxMs: 6_000, createContainerMs: 400, startContainerMs: 0 };
    },
    steps: [
      ...HALF_MADE.map((name): Step => [3_000, create(name)]),
      ...agentAway(4_000, 5_000),
      // At this time the containers of the first sandboxes are being created.
      ...agentAway(9_300, 10_300),
    ],
    lastsMs: 90_000,
    wrong: all(...HALF_MADE.flatMap((name) => [isRunning(name), oneRuns(name)])),
  },
  {
    bug: 18,
    name: "the calendar is set back again and again",
    steps: [
      [3_000, create("a", app(exits(1_000, 1)))],
      ...[6_000, 8_000, 12_000, 16_000, 24_000].map(
        (atMs): Step => [atMs, ({ world }) => world.clock.jumpWall(-40_000)],
      ),
    ],
    lastsMs: 90_000,
    wrong: restartsAtLeast("a", 2),
  },
  {
    bug: 19,
    name: "somebody starts the old container beside the new one",
    steps: [
      [3_000, create("a", app({ ...exits(3_000, 1) }))],
      [
        7_500,
        (stage) => {
          const [first] = named([...stage.node.runtime.containers.values()], "app");
          if (first !== undefined) stage.node.runtime.revive(first.id);
        },
      ],
    ],
    lastsMs: 60_000,
    wrong: (stage) => {
      const running = runningNow(stage, "a", "app");
      return running.length <= 1 ? [] : [`${running.length} run`];
    },
  },
  {
    bug: 20,
    name: "a finished pod gets no sandbox",
    steps: [
      [3_000, finished.step],
      [
        9_000,
        ({ node }) => {
          for (const { process } of node.runtime.sandboxes.values())
            if (process !== undefined) node.runtime.killProcess(process.pid);
        },
      ],
      ...agentAway(12_000, 13_000),
    ],
    lastsMs: 60_000,
    wrong: all(endedWith("finished", "Succeeded", 0), startsAre("finished", 1), ({ node }) => {
      const ready = [...node.runtime.sandboxes.values()].filter(({ state }) => state === "ready");
      return ready.length === 0 ? [] : [`${ready.length} sandboxes are ready`];
    }),
  },
  {
    bug: 21,
    name: "a container of which nothing is known is stopped before another takes its place",
    steps: [
      [3_000, create("a")],
      [3_001, create("once", { restartPolicy: "Never" })],
      [
        8_000,
        ({ node }) => {
          for (const { id } of node.runtime.containers.values()) node.runtime.loseTrackOf(id);
        },
      ],
    ],
    lastsMs: 100_000,
    wrong: all(isRunning("a"), oneRuns("a")),
  },
  {
    bug: 22,
    name: "the runtime dies while it stops a container, and says ever after that it runs",
    steps: [
      [3_000, create("a", app(endsAfter(1_500)))],
      [8_000, ({ remove }) => remove("a")],
      [8_400, ({ node }) => node.runtime.kill()],
      [8_500, ({ node: { runtime } }) => [...runtime.containers.keys()].forEach((id) => runtime.overlook(id))],
      [14_000, ({ node }) => node.runtime.restart()],
    ],
    // An agent that dies within its minute of waiting leaves the next one to wait its own minute.
    lastsMs: 200_000,
    wrong: isGone("a"),
  },
  {
    bug: 23,
    name: "the power fails, and the names of the sandboxes are still taken",
    steps: [
      [2_000, manifest("a.json", SERVER)],
      [3_000, create("a")],
      ...machineRestarts(9_000),
      ...machineRestarts(20_000),
    ],
    lastsMs: 70_000,
    wrong: all(staticRuns(true), isRunning("a")),
  },
  {
    bug: 24,
    name: "sandboxes that are said to have failed leave no address behind",
    steps: [
      [3_000, create("a")],
      [40_000, ({ remove }) => remove("a")],
    ],
    fault: failing(["RunPodSandbox"], "unknown", [3_000, 20_000]),
    lastsMs: 70_000,
    wrong: all(isGone("a"), ({ node }) =>
      node.runtime.addresses.size === 0 ? [] : [`${node.runtime.addresses.size} addresses are taken`],
    ),
  },
  {
    bug: 25,
    name: "ready pods stay ready through restarts of the agent",
    steps: [
      [3_000, create("a", app(answering([0, 200]), { readinessProbe: HTTP, startupProbe: HTTP }))],
      ...agentAway(12_000, 13_000),
      ...agentAway(16_000, 17_500),
    ],
    lastsMs: 40_000,
    wrong: all(isRunning("a"), startsAre("a", 1)),
  },
  {
    bug: 26,
    name: "a pod that is not ready is not shown ready after a restart",
    steps: [[3_000, create("a", app(answering([0, 500]), { readinessProbe: EXEC }))], ...agentAway(12_000, 13_000)],
    lastsMs: 30_000,
    wrong: all(startsAre("a", 1), (stage) => (isRunning("a")(stage).length > 0 ? [] : ["it is ready"])),
  },
  {
    bug: 27,
    name: "beside a sidecar with a startup probe a container that failed comes again after a restart",
    steps: [
      [
        3_000,
        create("a", {
          ...app(exits(9_000, 1)),
          initContainers: [sidecar("proxy", answering([1_000, 200]), { startupProbe: EXEC })],
        }),
      ],
      ...agentAway(10_000, 16_000),
    ],
    lastsMs: 60_000,
    wrong: all(restartsAtLeast("a", 1), runsOf("a", "proxy", 1)),
  },
  {
    bug: 28,
    name: "commands of probes that are silent do not pile up",
    steps: [[3_000, create("a", app(answering([0, 200], [6_000, "silent"]), { livenessProbe: EXEC }))]],
    lastsMs: 60_000,
    wrong: all(restartsAtLeast("a", 1), ({ node }) =>
      [...node.runtime.containers.values()].flatMap(({ commands, id }) => {
        const { length } = commands.filter(({ ended }) => ended === undefined);
        return length <= 1 ? [] : [`${length} commands are under way in ${id}`];
      }),
    ),
  },
  {
    bug: 30,
    name: "a container that started in the future becomes ready",
    steps: [
      [3_000, create("a", app(answering([0, 200]), { readinessProbe: { ...HTTP, initialDelaySeconds: 3 } }))],
      [4_500, ({ world }) => world.clock.jumpWall(-3_600_000)],
      ...agentAway(5_000, 6_000),
    ],
    lastsMs: 40_000,
    wrong: all(isRunning("a"), startsAre("a", 1)),
  },
  {
    bug: 31,
    name: "init containers that were removed do not run again",
    steps: [
      [3_000, create("a", { initContainers: [container("one", exits(500, 0)), container("two", exits(300, 0))] })],
      [
        9_000,
        async ({ node }) => {
          const ended = [...node.runtime.containers.values()].filter(({ state }) => state === "exited");
          for (const { id } of ended) await node.runtime.discard(id);
        },
      ],
      ...agentAway(10_000, 11_000),
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), runsOf("a", "one", 1), runsOf("a", "two", 1), runsOf("a", "app", 1)),
  },
  {
    bug: 32,
    name: "after the machine restarts, a pod is set up again from its init containers",
    steps: [
      [3_000, create("a", { initContainers: [container("one", exits(500, 0)), sidecar("proxy")] })],
      ...machineRestarts(10_000),
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), runsOf("a", "one", 2), runsOf("a", "proxy", 2)),
  },
  {
    bug: 39,
    name: "bytes of a secret that are no text arrive as they are",
    before: ({ put }) => {
      const data = { bytes: secretBytes.toString("base64") };
      put(secrets, { apiVersion: "v1", kind: "Secret", metadata: { name: UNTOLD, namespace: "default" }, data });
    },
    steps: [
      [
        3_000,
        create(
          "a",
          app(SERVER, {
            env: [{ name: "BYTES", valueFrom: { secretKeyRef: { name: UNTOLD, key: "bytes" } } }],
          }),
        ),
      ],
    ],
    lastsMs: 30_000,
    wrong: all(isRunning("a"), (stage) => {
      const [record] = runningNow(stage, "a", "app");
      const value = record?.config.environment?.find(({ name }) => name === "BYTES")?.value ?? new Uint8Array();
      return Buffer.compare(Buffer.from(value), secretBytes) === 0
        ? []
        : [`it is ${Buffer.from(value).toString("hex")}`];
    }),
  },
  {
    bug: 42,
    name: "what follows the journal's last whole line is no reason not to start",
    steps: [
      [3_000, create("a")],
      [3_001, create("once", { ...app(exits(2_000, 0)), restartPolicy: "Never" })],
      [9_000, ({ node }) => node.crash()],
      [
        9_500,
        ({ node }) => {
          const segments = directoryAt(node.files.disk, "/var/lib/kubelet/deckhand/journal")?.entries.values() ?? [];
          for (const entry of segments)
            if (entry.kind === "file") {
              entry.content = Buffer.concat([entry.content, Buffer.from('77 deadbeef {"half a')]);
              entry.onDisk = entry.content;
            }
        },
      ],
      [10_000, startAgent],
    ],
    lastsMs: 40_000,
    wrong: all(isRunning("a"), startsAre("a", 1), startsAre("once", 1), endedWith("once", "Succeeded", 0)),
  },
  {
    bug: 45,
    name: "heartbeats without an answer are sent again, and the lease is renewed when the link is back",
    steps: [[3_000, create("a")]],
    fault: ({ port, target }, nowMs) =>
      port === "api" && target.startsWith("leases") && nowMs > 12_000 && nowMs < 60_000
        ? { kind: "hang", effect: "none" }
        : undefined,
    lastsMs: 80_000,
    wrong: all(isRunning("a"), startsAre("a", 1), ({ world }) => {
      const lease = world.api.store.get(kindOf(leases), "kube-node-lease/n1") as unknown as Lease | undefined;
      const ageMs = world.clock.wallMs() - Date.parse(lease?.spec?.renewTime ?? "");
      return ageMs <= 20_000 ? [] : [`the lease is ${ageMs} ms old`];
    }),
  },
  {
    bug: 46,
    name: "a pod that is gone is not raised by an old list",
    steps: [
      [3_000, raised.step],
      [8_000, keepAsShown],
      [8_001, ({ remove }) => remove("raised")],
      [20_000, ({ node }) => node.crash()],
      [20_500, showAgain],
      [21_000, startAgent],
    ],
    lastsMs: 50_000,
    wrong: (stage) => {
      const runs = recordsOf(stage, raised.uid).length;
      return runs === 1 ? [] : [`it ran ${runs} times`];
    },
  },
  {
    bug: 47,
    name: "one pod for which the runtime never answers holds up no other",
    steps: [
      [3_000, create("hung")],
      [6_000, create("other")],
      [12_000, create("third", { ...app(exits(1_000, 0)), restartPolicy: "Never" })],
    ],
    fault: ({ port, target }) =>
      port === "runtime" && target.startsWith("default/hung/") ? { kind: "hang", effect: "none" } : undefined,
    lastsMs: 40_000,
    wrong: all(isRunning("other"), endedWith("third", "Succeeded", 0)),
  },
];

/** Scenarios with init containers, sidecars, ephemeral containers, and postStart and preStop hooks. */
import type { Container, PodSpec } from "../../src/api/gen/core-v1.ts";
import { app, container, endsAfter, execHook, exits, pod, SERVER, sidecar } from "../workload/pod.ts";
import { all, endedWith, isGone, isRunning, named, noted, runsOf, startsAre } from "./ends.ts";
import type { Scenario, Stage } from "./scenario.ts";

/** The containers ended in the order of these names. */
const endedInOrder =
  (uid: (stage: Stage) => string, ...names: readonly string[]) =>
  (stage: Stage): readonly string[] => {
    const ends = names.map((name) => named(stage.oracle.records(uid(stage)), name).at(-1)?.finishedWallNs ?? 0n);
    const isInOrder = ends.every((end, index) => end > 0n && (index === 0 || end >= (ends[index - 1] ?? 0n)));
    return isInOrder ? [] : [`${names.join(", ")} did not end in this order: ${ends.join(", ")}`];
  };

/** In every run of the container of this name, the hook ran to its end. */
const hookWasRun =
  (uid: (stage: Stage) => string, name: string, argv: readonly string[]) =>
  (stage: Stage): readonly string[] => {
    const without = named(stage.oracle.records(uid(stage)), name).filter(
      ({ commands }) => !commands.some((run) => run.argv.join() === argv.join() && run.ended !== undefined),
    );
    return without.length === 0 ? [] : [`in ${without.length} runs of ${name} its hook was not run to its end`];
  };

const waitsFor =
  (name: string, reason: string, list: "containerStatuses" | "initContainerStatuses") =>
  ({ pod: find }: Stage): readonly string[] => {
    const state = find(name)?.status?.[list]?.[0]?.state;
    return state?.waiting?.reason === reason ? [] : [`${name} shows ${JSON.stringify(state)}, not ${reason}`];
  };

const setUp: Partial<PodSpec> = { initContainers: [container("one", exits(700, 0)), container("two", exits(400, 0))] };
const meshed = noted("meshed", {
  terminationGracePeriodSeconds: 20,
  initContainers: [sidecar("a", endsAfter(200)), container("one", exits(300, 0)), sidecar("b", endsAfter(900))],
  ...app(endsAfter(1_500)),
});
const [postStart, preStop] = [execHook(exits(1_200, 0)), execHook(exits(1_500, 0))];
const hooked = noted("hooked", {
  terminationGracePeriodSeconds: 20,
  containers: [container("app", SERVER, { lifecycle: { postStart, preStop } }), container("next", SERVER)],
});

const deaf = noted("deaf", { ...app({}), terminationGracePeriodSeconds: 12 });

const nextCameAfter = (stage: Stage): readonly string[] => {
  const records = stage.oracle.records(hooked.uid(stage));
  const [app, next] = [named(records, "app")[0], named(records, "next")[0]];
  const done = app?.commands.find(({ argv }) => argv.join() === postStart.exec.command.join())?.ended?.wallNs;
  return done !== undefined && (next?.startedWallNs ?? 0n) >= done
    ? []
    : ["the next container did not wait for the hook"];
};

/**
 * After this time the container exits with 42, and all containers restart. The scenario ends before its second exit.
 */
const RESTART_ALL_MS = 6_000;
const asksForAll: Partial<Container> = {
  restartPolicy: "Never",
  restartPolicyRules: [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } }],
};
const restarted = noted("restarted", {
  restartPolicy: "Never",
  initContainers: [container("one", exits(300, 0)), sidecar("proxy", SERVER)],
  containers: [container("app", SERVER), container("watcher", exits(RESTART_ALL_MS, 42), asksForAll)],
});

/** Every current container has been restarted at least once, and the status reports the counts and the condition. */
const wasRestarted = (stage: Stage): readonly string[] => {
  const { initContainerStatuses = [], containerStatuses = [], conditions = [] } = stage.pod("restarted")?.status ?? {};
  const low = [...initContainerStatuses, ...containerStatuses].filter(({ restartCount }) => restartCount < 1);
  const condition = conditions.find(({ type }) => type === "AllContainersRestarting");
  return [
    ...low.map(({ name, restartCount }) => `${name} has a restart count of ${restartCount}`),
    ...(condition === undefined ? ["nothing is said of AllContainersRestarting"] : []),
  ];
};

const oneSandbox = (stage: Stage): readonly string[] => {
  const made = [...stage.node.runtime.sandboxes.values()].filter(({ config }) => config.metadata.name === "restarted");
  return made.length === 1 ? [] : [`${made.length} sandboxes were made`];
};

export const withRoles: readonly Scenario[] = [
  {
    name: "init containers",
    steps: [[3_000, ({ create }) => void create(pod("a", setUp))]],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 3)),
  },
  {
    name: "init failure under Never",
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(
            pod("a", {
              initContainers: [container("one", exits(500, 7)), container("two", SERVER)],
              restartPolicy: "Never",
            }),
          ),
      ],
    ],
    lastsMs: 60_000,
    wrong: all(startsAre("a", 1), ({ pod: find }) => {
      const { phase, initContainerStatuses } = find("a")?.status ?? {};
      const code = initContainerStatuses?.[0]?.state?.terminated?.exitCode;
      return phase === "Failed" && code === 7 ? [] : [`a is ${phase} with ${code}, not Failed with 7`];
    }),
  },
  {
    name: "init crash loop",
    steps: [[3_000, ({ create }) => void create(pod("a", { initContainers: [container("one", exits(100, 3))] }))]],
    lastsMs: 70_000,
    wrong: all(waitsFor("a", "CrashLoopBackOff", "initContainerStatuses"), runsOf("a", "app", 0)),
  },
  {
    name: "job with a sidecar",
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(
            pod("a", {
              initContainers: [sidecar("proxy", SERVER)],
              ...app(exits(4_000, 0)),
              restartPolicy: "Never",
            }),
          ),
      ],
    ],
    lastsMs: 60_000,
    wrong: all(endedWith("a", "Succeeded", 0), startsAre("a", 2)),
  },
  {
    name: "sidecar that ends",
    steps: [[3_000, ({ create }) => void create(pod("a", { initContainers: [sidecar("proxy", exits(9_000, 1))] }))]],
    lastsMs: 40_000,
    wrong: all(runsOf("a", "app", 1), ({ pod: find }) =>
      (find("a")?.status?.initContainerStatuses?.[0]?.restartCount ?? 0) >= 1 ? [] : ["the sidecar did not come again"],
    ),
  },
  {
    name: "end with sidecars",
    steps: [
      [3_000, meshed.step],
      [12_000, ({ remove }) => remove("meshed")],
    ],
    lastsMs: 60_000,
    wrong: all(isGone("meshed"), endedInOrder(meshed.uid, "app", "b", "a")),
  },
  {
    name: "hooks",
    steps: [
      [3_000, hooked.step],
      [15_000, ({ remove }) => remove("hooked")],
    ],
    lastsMs: 60_000,
    wrong: all(
      isGone("hooked"),
      hookWasRun(hooked.uid, "app", postStart.exec.command),
      hookWasRun(hooked.uid, "app", preStop.exec.command),
      nextCameAfter,
    ),
  },
  {
    name: "failing hook",
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(
            pod("a", {
              terminationGracePeriodSeconds: 2,
              ...app(SERVER, { lifecycle: { postStart: execHook(exits(100, 1)) } }),
            }),
          ),
      ],
    ],
    lastsMs: 70_000,
    wrong: ({ pod: find }) => {
      const status = find("a")?.status?.containerStatuses?.[0];
      const isRight = status?.state?.waiting !== undefined && status.restartCount >= 1;
      return isRight ? [] : [`a shows ${JSON.stringify(status)}`];
    },
  },
  {
    name: "restart of all containers",
    steps: [[3_000, restarted.step]],
    lastsMs: 13_500,
    wrong: all(wasRestarted, oneSandbox),
  },
  {
    name: "somebody looks in",
    steps: [
      [3_000, ({ create }) => void create(pod("a", {}))],
      [8_000, ({ addEphemeralContainer }) => addEphemeralContainer("a", container("debug", exits(2_000, 0)))],
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 2)),
  },
  {
    name: "grace over a restart",
    steps: [
      [3_000, deaf.step],
      [8_000, ({ remove }) => remove("deaf")],
      [11_000, ({ node }) => node.crash()],
      [12_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
    ],
    lastsMs: 60_000,
    wrong: isGone("deaf"),
  },
  {
    name: "back-off over a restart",
    steps: [
      [3_000, ({ create }) => void create(pod("a", app(exits(100, 3))))],
      [16_000, ({ node }) => node.crash()],
      [17_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
    ],
    lastsMs: 60_000,
    // A restart that was decided but not begun when the agent died waits again.
    wrong: ({ oracle, pod: find }) => {
      const runs = oracle.starts(find("a")?.metadata?.uid ?? "");
      return runs === 3 || runs === 4 ? [] : [`a ran ${runs} times`];
    },
  },
];

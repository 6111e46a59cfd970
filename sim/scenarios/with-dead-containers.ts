/** Small worlds for the limits of dead containers and for their removal under disk pressure. */
import type { Kubelet } from "../../src/app/compose.ts";
import { POD_UID_LABEL } from "../../src/domain/container-config/cri-keys.ts";
import { app, exits, manifestOf, pod } from "../workload/pod.ts";
import { all, endedWith, startsAre } from "./ends.ts";
import type { Scenario, Stage } from "./scenario.ts";

export interface LimitedScenario extends Scenario {
  /** Flags of the scenario's agent. */
  readonly flags: readonly string[];
}

const once = pod("once", { ...app(exits(1_000, 4)), restartPolicy: "Never" });
const staticOnce = manifestOf(pod("static", { ...app(exits(1_000, 0)), restartPolicy: "Never" }));

/** The pod has this many dead containers on the node. */
export const deadAre =
  (name: string, count: number) =>
  ({ pod: find, node }: Stage): readonly string[] => {
    const uid = find(name)?.metadata?.uid;
    const own = [...node.runtime.containers.values()].filter(({ config }) => config.labels?.[POD_UID_LABEL] === uid);
    const dead = own.filter(({ state }) => state !== "running").length;
    return dead === count ? [] : [`${name} has ${dead} dead containers, not ${count}`];
  };

const lastCodeIs =
  (name: string, code: number) =>
  ({ pod: find }: Stage): readonly string[] => {
    const last = find(name)?.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode;
    return last === code ? [] : [`${name} shows ${last} as its last exit code, not ${code}`];
  };

const agentRestarts = (atMs: number): Scenario["steps"] => [
  [atMs, ({ node }) => node.crash()],
  [atMs + 1_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
];

/** `kubelet` is the agent's newest life. */
export const withDeadContainers = (kubelet: () => Kubelet): readonly LimitedScenario[] => [
  {
    name: "no dead container may be kept",
    flags: ["--maximum-dead-containers-per-container=0", "--maximum-dead-containers=0"],
    steps: [
      [2_000, ({ writeManifest }) => writeManifest("a.json", staticOnce)],
      [3_000, ({ create }) => void create(once)],
      [3_001, ({ create }) => void create(pod("again", app(exits(20_000, 3))))],
      ...agentRestarts(130_000),
    ],
    lastsMs: 200_000,
    wrong: all(
      endedWith("once", "Failed", 4),
      startsAre("once", 1),
      deadAre("once", 0),
      deadAre("static-n1", 0),
      lastCodeIs("again", 3),
    ),
  },
  {
    name: "three dead instances of a container are kept",
    flags: ["--maximum-dead-containers-per-container=3"],
    steps: [[3_000, ({ create }) => void create(pod("again", app(exits(100, 3))))]],
    lastsMs: 250_000,
    wrong: all(lastCodeIs("again", 3), deadAre("again", 3)),
  },
  {
    name: "dead containers are removed under disk pressure",
    flags: [],
    steps: [
      [3_000, ({ create }) => void create(once)],
      [3_001, ({ create }) => void create(pod("again", app(exits(100, 3))))],
      [
        20_000,
        () => {
          const { reclaimRequests } = kubelet().cells;
          reclaimRequests.set({ ...reclaimRequests.value, containers: reclaimRequests.value.containers + 1 });
        },
      ],
      ...agentRestarts(40_000),
    ],
    lastsMs: 90_000,
    wrong: all(endedWith("once", "Failed", 4), startsAre("once", 1), lastCodeIs("again", 3), deadAre("again", 1)),
  },
];

/**
 * Small worlds for the rules of the oracle that no other scenario exercises: what may start, how often a hook runs, and
 * whose objects are changed.
 */
import { CONFIG_HASH } from "../../src/domain/pod/pod-identity.ts";
import { scripted } from "../fake-runtime/behaviour.ts";
import { app, container, endsAfter, execHook, exits, manifestOf, pod, SERVER, sidecar } from "../workload/pod.ts";
import { all, isGone, isRunning, mirrorIs, noted, startsAre, staticRuns } from "./ends.ts";
import type { Scenario, Stage } from "./scenario.ts";

const limits = (cpu: string, memory: string) => ({ limits: { cpu, memory }, requests: { cpu, memory } });

const agentRestarts = (atMs: number): Scenario["steps"] => [
  [atMs, ({ node }) => node.crash()],
  [atMs + 1_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
];

const MANIFEST_URL = "http://manifests.example/pod.json";
/** Flags of an agent that also reads static pods from a URL. */
export const MANIFEST_FLAGS = [`--manifest-url=${MANIFEST_URL}`, "--http-check-frequency=3s"];

interface RuleScenario extends Scenario {
  /** Flags of the scenario's agent. */
  readonly flags?: readonly string[];
}

const serves =
  (stdout: string) =>
  ({ world }: Stage): void => {
    const body = JSON.stringify(manifestOf(pod("static", app({ ...SERVER, stdout }))));
    world.http.pages.set(MANIFEST_URL, { kind: "answer", status: 200, body });
  };

const STATIC = manifestOf(pod("static", app(SERVER)));
const COMPLETING = manifestOf(pod("static", { ...app(exits(1_000, 0)), restartPolicy: "Never" }));

/** The containers of the static pod were started this often. */
const staticStarts =
  (count: number) =>
  ({ oracle, pod: find }: Stage): readonly string[] => {
    const starts = oracle.starts(find("static-n1")?.metadata?.annotations?.[CONFIG_HASH] ?? "");
    return starts === count ? [] : [`the static pod started ${starts} times, not ${count}`];
  };

const OUTLASTING_SECONDS = 6;
/** What a container gets to stop after its grace period. */
const CONTAINER_SECONDS_MIN = 2;
const outlasting = noted("outlasting", {
  ...app({}, { lifecycle: { preStop: execHook({}) } }),
  terminationGracePeriodSeconds: OUTLASTING_SECONDS,
});

/** The last command in the pod's first container ran this long. */
const hookRanFor =
  (uid: (stage: Stage) => string, seconds: number) =>
  (stage: Stage): readonly string[] => {
    const run = stage.oracle.records(uid(stage))[0]?.commands.at(-1);
    const ranMs = run?.ended === undefined ? 0 : Number(run.ended.wallNs - run.begunWallNs) / 1e6;
    return Math.abs(ranMs - seconds * 1_000) < 100 ? [] : [`the hook ran for ${ranMs} ms, not ${seconds} s`];
  };

export const withRules: readonly RuleScenario[] = [
  {
    name: "crashing pod is deleted",
    steps: [
      [3_000, ({ create }) => void create(pod("a", app(exits(1_000, 1))))],
      [7_000, ({ remove }) => remove("a")],
    ],
    lastsMs: 60_000,
    wrong: isGone("a"),
  },
  {
    name: "agent dies between a preStop hook and the end of its container",
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(
            pod("a", {
              ...app(endsAfter(6_000), { lifecycle: { preStop: execHook(exits(1_500, 0)) } }),
              terminationGracePeriodSeconds: 15,
            }),
          ),
      ],
      [10_000, ({ remove }) => remove("a")],
      ...agentRestarts(13_000),
    ],
    lastsMs: 60_000,
    wrong: isGone("a"),
  },
  {
    name: "manifest is removed and written again in the same moment",
    steps: [
      [2_000, ({ writeManifest }) => writeManifest("a.json", STATIC)],
      [
        8_000,
        async ({ writeManifest }) => {
          await writeManifest("a.json", undefined);
          await writeManifest("a.json", STATIC);
        },
      ],
    ],
    lastsMs: 60_000,
    wrong: all(staticRuns(true), mirrorIs(true), staticStarts(2)),
  },
  {
    name: "manifest is replaced by the same content",
    steps: [2_000, 8_000, 8_010].map((atMs) => [atMs, ({ writeManifest }: Stage) => writeManifest("a.json", STATIC)]),
    lastsMs: 60_000,
    wrong: all(staticRuns(true), mirrorIs(true), staticStarts(1)),
  },
  {
    name: "manifest is removed and written again while no agent runs",
    steps: [
      [2_000, ({ writeManifest }) => writeManifest("a.json", STATIC)],
      [8_000, ({ node }) => node.crash()],
      [8_100, ({ writeManifest }) => writeManifest("a.json", undefined)],
      [8_200, ({ writeManifest }) => writeManifest("a.json", STATIC)],
      [9_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
    ],
    lastsMs: 60_000,
    wrong: all(staticRuns(true), mirrorIs(true), staticStarts(1)),
  },
  {
    name: "completed static pod stays completed after a restart of the agent",
    steps: [[2_000, ({ writeManifest }) => writeManifest("a.json", COMPLETING)], ...agentRestarts(12_000)],
    lastsMs: 60_000,
    wrong: all(staticRuns(false), mirrorIs(true), staticStarts(1)),
  },
  {
    name: "preStop hook outlasts the grace period of its container",
    steps: [
      [3_000, outlasting.step],
      [10_000, ({ remove }) => remove("outlasting")],
    ],
    lastsMs: 60_000,
    wrong: all(isGone("outlasting"), hookRanFor(outlasting.uid, OUTLASTING_SECONDS + CONTAINER_SECONDS_MIN)),
  },
  {
    name: "resize by a restart, then in place",
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(
            pod("a", {
              containers: [
                container("app", SERVER, {
                  command: [...scripted(SERVER)],
                  resources: limits("100m", "64Mi"),
                  resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }],
                }),
              ],
            }),
          ),
      ],
      [10_000, ({ resize }) => resize("a", { app: limits("100m", "128Mi") })],
      [30_000, ({ resize }) => resize("a", { app: limits("200m", "128Mi") })],
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 2)),
  },
  {
    name: "resize of a pod that completes while no agent runs",
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(
            pod("a", {
              restartPolicy: "OnFailure",
              initContainers: [sidecar("proxy", SERVER, { resources: limits("100m", "64Mi") })],
              containers: [container("app", exits(5_000, 0), { resources: limits("100m", "64Mi") })],
            }),
          ),
      ],
      [6_000, ({ node }) => node.crash()],
      [7_000, ({ resize }) => resize("a", { proxy: limits("200m", "128Mi") })],
      [12_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
    ],
    lastsMs: 60_000,
    wrong: ({ pod: find }) => {
      const phase = find("a")?.status?.phase;
      return phase === "Succeeded" ? [] : [`a is ${phase}`];
    },
  },
  {
    name: "pod is deleted while a slow runtime restarts its container",
    before: ({ node }) => {
      node.runtime.knobs.durations = { runSandboxMs: 0, createContainerMs: 0, startContainerMs: 3_000 };
    },
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(
            pod("a", {
              ...app(exits(1_000, 1)),
              initContainers: [sidecar("proxy", endsAfter(4_000))],
              terminationGracePeriodSeconds: 10,
            }),
          ),
      ],
      // The container's start completes before the sidecar has ended.
      [11_500, ({ remove }) => remove("a")],
    ],
    lastsMs: 60_000,
    wrong: isGone("a"),
  },
  {
    name: "two pods run",
    steps: [
      [3_000, ({ create }) => void create(pod("a"))],
      [6_000, ({ create }) => void create(pod("b"))],
    ],
    lastsMs: 20_000,
    wrong: all(isRunning("a"), isRunning("b")),
  },
  {
    name: "runtime is dead for two minutes",
    steps: [
      [3_000, ({ create }) => void create(pod("a"))],
      [20_000, ({ node }) => node.runtime.kill()],
      [140_000, ({ node }) => node.runtime.restart()],
    ],
    lastsMs: 240_000,
    wrong: isRunning("a"),
  },
  {
    name: "pod comes to a node that runs another",
    steps: [
      [3_000, ({ create }) => void create(pod("a"))],
      [20_000, ({ create }) => void create(pod("b"))],
    ],
    lastsMs: 360_000,
    wrong: all(isRunning("a"), isRunning("b")),
  },
  {
    name: "pod is deleted beside things of others",
    before: ({ oracle }) => oracle.foreign.place(),
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(
            pod("a", {
              ...app(SERVER, { volumeMounts: [{ name: "data", mountPath: "/data" }] }),
              volumes: [{ name: "data", emptyDir: { medium: "Memory" } }],
            }),
          ),
      ],
      [10_000, ({ remove }) => remove("a")],
    ],
    lastsMs: 60_000,
    wrong: isGone("a"),
  },
  {
    name: "static pods of one name from two sources wait for a third",
    flags: MANIFEST_FLAGS,
    steps: [
      [2_000, ({ writeManifest }) => writeManifest("a.json", manifestOf(pod("static", app(endsAfter(60_000)))))],
      [
        10_000,
        ({ writeManifest }) =>
          writeManifest("a.json", manifestOf(pod("static", app({ ...SERVER, stdout: "from a file" })))),
      ],
      [11_000, serves("from a server")],
    ],
    lastsMs: 60_000,
    wrong: ({ node }) => {
      const running = [...node.runtime.containers.values()].filter(({ state }) => state === "running");
      const commands = running.map(({ config }) => config.command?.join(" ") ?? "");
      return commands.length === 1 && commands[0]?.includes("from a file") === true
        ? []
        : [`there run ${commands.join()}`];
    },
  },
];

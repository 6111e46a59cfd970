/** Scenarios of pods that are resized while they run: in place, by a restart, at once, later, or never. */
import type { Container, Pod, PodSpec, ResourceRequirements } from "../../src/api/gen/core-v1.ts";
import { type Behaviour, scripted } from "../fake-runtime/behaviour.ts";
import { all, isRunning, startsAre } from "./ends.ts";
import { wrongResizes } from "./resize-ends.ts";
import type { Scenario, Stage } from "./scenario.ts";

const MIB = 1024n * 1024n;
const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };

const has = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});
const [SMALL, LARGE] = [has("100m", "64Mi"), has("200m", "128Mi")];

const container = (name: string, resources: ResourceRequirements, more: Partial<Container> = {}): Container => ({
  name,
  image: "busybox",
  imagePullPolicy: "IfNotPresent",
  command: [...scripted(server)],
  resources,
  ...more,
});

const pod = (name: string, spec: Partial<PodSpec>): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: {
    nodeName: "n1",
    terminationGracePeriodSeconds: 5,
    automountServiceAccountToken: false,
    containers: [container("app", SMALL)],
    ...spec,
  },
});

/** The runtime, the status and the conditions agree on these resources. */
const hasNow =
  (name: string, containerName: string, milli: number, bytes: bigint) =>
  ({ pod: find, oracle }: Stage): readonly string[] => {
    const found = find(name);
    const records = oracle.records(found?.metadata?.uid ?? "");
    const record = records.findLast(({ config }) => config.metadata.name === containerName);
    const { cpuQuotaUs, memoryLimitBytes } = record?.resources ?? {};
    const reported = found?.status?.containerStatuses?.find((one) => one.name === containerName);
    const wrong: string[] = [];
    if (cpuQuotaUs !== milli * 100 || memoryLimitBytes !== bytes) {
      wrong.push(`${name} has ${cpuQuotaUs} us and ${memoryLimitBytes} bytes`);
    }
    const limits = { cpu: `${milli}m`, memory: `${bytes / MIB}Mi` };
    const shown = reported?.resources?.limits;
    if (shown?.["cpu"] !== limits.cpu || shown["memory"] !== limits.memory) {
      wrong.push(`${name} reports ${JSON.stringify(reported?.resources)}`);
    }
    if (
      JSON.stringify(reported?.allocatedResources) !==
      JSON.stringify(found?.spec?.containers.find((one) => one.name === containerName)?.resources?.requests)
    ) {
      wrong.push(`${name} reports ${JSON.stringify(reported?.allocatedResources)} as allocated`);
    }
    return [...wrong, ...conditions(name, [])({ pod: find })];
  };

const conditions =
  (name: string, wanted: readonly string[]) =>
  ({ pod: find }: Pick<Stage, "pod">): readonly string[] => {
    const found = (find(name)?.status?.conditions ?? []).filter(({ type }) => type.startsWith("PodResize"));
    const shown = found.map(({ type, reason = "" }) => `${type} ${reason}`.trim());
    return shown.join() === wanted.join() ? [] : [`${name} has the conditions ${shown.join()}, not ${wanted.join()}`];
  };

const restartsAre =
  (name: string, containerName: string, count: number) =>
  ({ pod: find }: Stage): readonly string[] => {
    const reported = find(name)?.status?.containerStatuses?.find((one) => one.name === containerName)?.restartCount;
    return reported === count ? [] : [`${containerName} of ${name} was restarted ${reported} times, not ${count}`];
  };

const RESTARTS = { resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }] };

const list: readonly Scenario[] = [
  {
    name: "resize in place",
    steps: [
      [3_000, ({ create }) => void create(pod("a", {}))],
      [12_000, ({ resize }) => resize("a", { app: LARGE })],
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 1), hasNow("a", "app", 200, 128n * MIB)),
  },
  {
    name: "resize to less, then to more",
    steps: [
      [3_000, ({ create }) => void create(pod("a", { containers: [container("app", SMALL), container("b", SMALL)] }))],
      [12_000, ({ resize }) => resize("a", { app: has("50m", "32Mi"), b: LARGE })],
      [12_010, ({ resize }) => resize("a", { app: has("60m", "48Mi"), b: SMALL })],
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 2), hasNow("a", "app", 60, 48n * MIB), hasNow("a", "b", 100, 64n * MIB)),
  },
  {
    name: "resize by a restart",
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(pod("a", { restartPolicy: "OnFailure", containers: [container("app", SMALL, RESTARTS)] })),
      ],
      [12_000, ({ resize }) => resize("a", { app: LARGE })],
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 2), restartsAre("a", "app", 1), hasNow("a", "app", 200, 128n * MIB)),
  },
  {
    name: "resize that waits for a pod to go",
    steps: [
      [3_000, ({ create }) => void create(pod("a", {}))],
      [3_100, ({ create }) => void create(pod("b", { containers: [container("app", has("3500m", "64Mi"))] }))],
      [12_000, ({ resize }) => resize("a", { app: has("1000m", "64Mi") })],
      [25_000, ({ remove }) => remove("b")],
    ],
    lastsMs: 70_000,
    wrong: all(isRunning("a"), startsAre("a", 1), ({ pod: find }) => {
      const { limits } = find("a")?.status?.containerStatuses?.[0]?.resources ?? {};
      return limits?.["cpu"] === "1" ? conditions("a", [])({ pod: find }) : [`a has ${JSON.stringify(limits)}`];
    }),
  },
  {
    name: "resize that waits",
    steps: [
      [3_000, ({ create }) => void create(pod("a", {}))],
      [12_000, ({ resize }) => resize("a", { app: has("9", "64Mi") })],
    ],
    lastsMs: 40_000,
    wrong: all(isRunning("a"), startsAre("a", 1), conditions("a", ["PodResizePending Deferred"])),
  },
  {
    name: "resize that waits over a restart",
    steps: [
      [3_000, ({ create }) => void create(pod("a", {}))],
      [12_000, ({ resize }) => resize("a", { app: has("9", "64Mi") })],
      [20_000, ({ node }) => node.crash()],
      [21_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
    ],
    lastsMs: 50_000,
    wrong: all(isRunning("a"), startsAre("a", 1), conditions("a", ["PodResizePending Deferred"])),
  },
  {
    name: "resize of a sidecar and of the one it serves",
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(pod("a", { initContainers: [container("side", SMALL, { restartPolicy: "Always" })] })),
      ],
      [12_000, ({ resize }) => resize("a", { side: LARGE, app: has("50m", "32Mi") })],
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 2), conditions("a", [])),
  },
  {
    name: "resize of a pod as a whole",
    steps: [
      [3_000, ({ create }) => void create(pod("a", { resources: SMALL, containers: [container("app", {})] }))],
      [12_000, ({ resize }) => resize("a", {}, LARGE)],
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 1), conditions("a", [])),
  },
  {
    name: "resize below usage",
    steps: [
      [
        3_000,
        ({ create }) => {
          const command = [...scripted({ ...server, memoryBytes: 50 * 1024 * 1024 })];
          create(pod("a", { containers: [container("app", SMALL, { command })] }));
        },
      ],
      [12_000, ({ resize }) => resize("a", { app: has("100m", "32Mi") })],
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 1), conditions("a", ["PodResizeInProgress Error"])),
  },
];

export const withResizes: readonly Scenario[] = list.map((scenario) => ({
  ...scenario,
  wrong: all(scenario.wrong, (stage) => wrongResizes(stage, false)),
}));

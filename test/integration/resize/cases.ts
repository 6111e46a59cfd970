/** Pods whose resources are changed while they run, and the expected result. */
import type { Container, PodSpec, ResourceRequirements } from "../../../src/api/gen/core-v1.ts";
import { selectedByName } from "../../golden/selected-cases.ts";
import { SLEEPER, sh } from "../../support/cluster-pods.ts";

/**
 * "done": actuated; "deferred": the resize waits; "error": allocated, but actuation fails. There is no case for
 * `Infeasible`: the API server v1.36.4 itself rejects requests above the Node's allocatable, and an agent uses what the
 * Node shows.
 */
export type Ending = "done" | "deferred" | "error";

export interface ResizeCase {
  readonly rows: readonly string[];
  readonly spec: Partial<PodSpec>;
  /** Applied in order, each after the previous change has reached its result. */
  readonly changes: readonly object[];
  readonly ending: Ending;
  /** Containers that are restarted, each once. */
  readonly restarts?: readonly string[];
  /** The pod keeps restarting, so its status depends on the time of observation. */
  readonly goesOn?: true;
}

const has = (requests: Texts, limits?: Texts): ResourceRequirements => ({
  requests,
  ...(limits === undefined ? {} : { limits }),
});
type Texts = Readonly<Record<string, string>>;

const main = (resources: ResourceRequirements, more: Partial<Container> = {}): Container => ({
  ...SLEEPER,
  resources,
  ...more,
});
const named = (name: string, resources: ResourceRequirements, more: Partial<Container> = {}): Container => ({
  ...main(resources, more),
  name,
});

const to = (name: string, resources: ResourceRequirements, list = "containers") => ({
  spec: { [list]: [{ name, resources }] },
});

const BURSTABLE = has({ cpu: "20m", memory: "32Mi" }, { cpu: "100m", memory: "64Mi" });
const restartsFor = (resourceName: string) => ({
  resizePolicy: [
    { resourceName: "cpu", restartPolicy: resourceName === "cpu" ? "RestartContainer" : "NotRequired" },
    { resourceName: "memory", restartPolicy: resourceName === "memory" ? "RestartContainer" : "NotRequired" },
  ],
});

/** Counts as started once it uses a little more than 40 MB. */
const FULL: Container = {
  ...sh(
    "trap 'exit 0' TERM; x=$(head -c 40000000 /dev/zero | tr '\\0' x); touch /tmp/full; while :; do sleep 1000 & wait; done",
  ),
  lifecycle: { postStart: { exec: { command: ["sh", "-c", "until [ -e /tmp/full ]; do sleep 0.1; done"] } } },
};

export const CASES = selectedByName<ResizeCase>({
  "cpu-up": {
    rows: ["8.1", "8.4"],
    spec: { containers: [main(BURSTABLE)] },
    changes: [to("main", has({ cpu: "40m" }, { cpu: "200m" }))],
    ending: "done",
  },
  "cpu-down": {
    rows: ["8.1", "8.4"],
    spec: { containers: [main(BURSTABLE)] },
    changes: [to("main", has({ cpu: "10m" }, { cpu: "50m" }))],
    ending: "done",
  },
  "memory-up": {
    rows: ["8.1", "8.4"],
    spec: { containers: [main(BURSTABLE)] },
    changes: [to("main", has({ memory: "48Mi" }, { memory: "96Mi" }))],
    ending: "done",
  },
  "memory-down": {
    rows: ["8.1", "8.4"],
    spec: { containers: [main(BURSTABLE)] },
    changes: [to("main", has({ memory: "24Mi" }, { memory: "48Mi" }))],
    ending: "done",
  },
  "memory-request-only": {
    rows: ["8.1", "8.2"],
    spec: { containers: [main(BURSTABLE)] },
    changes: [to("main", has({ memory: "40Mi" }))],
    ending: "done",
  },
  "limits-only": {
    rows: ["8.1", "8.4"],
    spec: { containers: [main(BURSTABLE)] },
    changes: [to("main", { limits: { cpu: "150m", memory: "80Mi" } })],
    ending: "done",
  },
  "cpu-up-memory-down": {
    rows: ["8.4"],
    spec: { containers: [main(BURSTABLE)] },
    changes: [to("main", has({ cpu: "40m", memory: "24Mi" }, { cpu: "200m", memory: "48Mi" }))],
    ending: "done",
  },
  "one-up-one-down": {
    rows: ["8.4"],
    spec: { containers: [main(BURSTABLE), named("second", BURSTABLE)] },
    changes: [
      {
        spec: {
          containers: [
            { name: "main", resources: has({ cpu: "30m", memory: "40Mi" }, { cpu: "120m", memory: "72Mi" }) },
            { name: "second", resources: has({ cpu: "10m", memory: "24Mi" }, { cpu: "80m", memory: "56Mi" }) },
          ],
        },
      },
    ],
    ending: "done",
  },
  guaranteed: {
    rows: ["8.3", "8.4"],
    spec: { containers: [main(has({ cpu: "50m", memory: "64Mi" }, { cpu: "50m", memory: "64Mi" }))] },
    changes: [to("main", has({ cpu: "60m", memory: "80Mi" }, { cpu: "60m", memory: "80Mi" }))],
    ending: "done",
  },
  "requests-without-limits": {
    rows: ["8.1"],
    spec: { containers: [main(has({ cpu: "20m", memory: "32Mi" }))] },
    changes: [to("main", has({ cpu: "30m", memory: "40Mi" }))],
    ending: "done",
  },
  "limits-added": {
    rows: ["8.4"],
    spec: { containers: [main(has({ cpu: "20m", memory: "32Mi" }))] },
    changes: [to("main", { limits: { cpu: "100m", memory: "64Mi" } })],
    ending: "done",
  },
  "restart-for-memory": {
    rows: ["8.4"],
    spec: { containers: [main(BURSTABLE, restartsFor("memory")), named("second", BURSTABLE)] },
    changes: [to("main", has({ memory: "48Mi" }, { memory: "96Mi" }))],
    ending: "done",
    restarts: ["main"],
  },
  "restart-for-cpu-policy-on-failure": {
    rows: ["8.4"],
    spec: { restartPolicy: "OnFailure", containers: [main(BURSTABLE, restartsFor("cpu"))] },
    changes: [to("main", has({ cpu: "10m" }, { cpu: "80m" }))],
    ending: "done",
    restarts: ["main"],
  },
  "restart-not-for-cpu": {
    rows: ["8.4"],
    spec: { containers: [main(BURSTABLE, restartsFor("memory"))] },
    changes: [to("main", has({ cpu: "30m" }, { cpu: "150m" }))],
    ending: "done",
  },
  "below-usage": {
    rows: ["8.2", "8.4"],
    spec: {
      containers: [{ ...FULL, resources: has({ cpu: "10m", memory: "100Mi" }, { cpu: "500m", memory: "200Mi" }) }],
    },
    changes: [to("main", has({ memory: "16Mi" }, { memory: "20Mi" }))],
    ending: "error",
  },
  sidecar: {
    rows: ["8.1", "8.4"],
    spec: {
      initContainers: [named("side", BURSTABLE, { restartPolicy: "Always" })],
      containers: [main(BURSTABLE)],
    },
    changes: [to("side", has({ cpu: "30m", memory: "40Mi" }, { cpu: "150m", memory: "96Mi" }), "initContainers")],
    ending: "done",
  },
  init: {
    rows: ["8.5"],
    spec: {
      initContainers: [named("init", BURSTABLE)],
      containers: [main(BURSTABLE)],
    },
    changes: [to("init", has({ cpu: "30m", memory: "40Mi" }, { cpu: "150m", memory: "96Mi" }), "initContainers")],
    ending: "done",
  },
  "pod-level": {
    rows: ["8.5"],
    spec: {
      resources: has({ cpu: "40m", memory: "64Mi" }, { cpu: "200m", memory: "128Mi" }),
      containers: [main({})],
    },
    changes: [{ spec: { resources: has({ cpu: "60m", memory: "80Mi" }, { cpu: "300m", memory: "160Mi" }) } }],
    ending: "done",
  },
  "pod-level-too-much-now": {
    rows: ["8.5"],
    spec: { resources: has({ cpu: "40m" }), containers: [main({})] },
    changes: [{ spec: { resources: has({ cpu: "1900m" }) } }],
    ending: "deferred",
  },
  "two-in-a-row": {
    rows: ["8.2"],
    spec: { containers: [main(BURSTABLE)] },
    changes: [
      to("main", has({ cpu: "40m" }, { cpu: "200m" })),
      to("main", has({ cpu: "30m", memory: "48Mi" }, { cpu: "150m", memory: "96Mi" })),
    ],
    ending: "done",
  },
  "back-again": {
    rows: ["8.2"],
    spec: { containers: [main(BURSTABLE)] },
    changes: [to("main", has({ cpu: "40m" }, { cpu: "200m" })), to("main", BURSTABLE)],
    ending: "done",
  },
  "too-much-now": {
    rows: ["8.1", "8.2", "8.3"],
    spec: { containers: [main(has({ cpu: "20m" }))] },
    changes: [to("main", has({ cpu: "1900m" }))],
    ending: "deferred",
  },
  "crash-looping": {
    rows: ["8.4"],
    spec: { containers: [{ ...sh("exit 3"), resources: BURSTABLE }, named("second", BURSTABLE)] },
    changes: [to("main", has({ cpu: "40m", memory: "48Mi" }, { cpu: "200m", memory: "96Mi" }))],
    ending: "done",
    goesOn: true,
  },
});

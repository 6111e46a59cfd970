/**
 * Pods that exceed a node's capacity or do not match the node. No other pod runs meanwhile, because the messages name
 * the resources in use.
 */
import type { NodeSelectorRequirement, PodSpec } from "../../../../src/api/gen/core-v1.ts";
import { type Case, type Ending, FAILS, SUCCEEDS, viewer } from "../../ordinary-differential/case.ts";

const of = (name: string, rows: readonly string[], spec: Partial<PodSpec>, ending: Ending): Case => ({
  name,
  rows,
  ending,
  spec: { containers: [viewer()], ...spec },
});
const asks = (
  name: string,
  requests: Readonly<Record<string, string>>,
  ending: Ending,
  more: Partial<PodSpec> = {},
) => {
  const limits = Object.fromEntries(
    Object.entries(requests).filter(([key]) => key.includes("/") || key.startsWith("huge")),
  );
  return of(
    `room-${name}`,
    ["5.1", "5.2"],
    { containers: [viewer({ resources: { requests, limits } })], ...more },
    ending,
  );
};
const placed = (name: string, expression: NodeSelectorRequirement, ending: Ending) => {
  const required = { nodeSelectorTerms: [{ matchExpressions: [expression] }] };
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  return of(`place-${name}`, ["5.1", "5.3"], { affinity }, ending);
};

/** An extended resource; both nodes report a capacity of two. */
export const EXTENDED = "example.com/gadget";

export const ROOM_CASES: readonly Case[] = [
  asks("cpu", { cpu: "100" }, FAILS),
  asks("memory", { memory: "3000Gi", cpu: "1m" }, FAILS),
  asks("ephemeral", { "ephemeral-storage": "9000Ti" }, FAILS),
  asks("hugepages", { "hugepages-2Mi": "64Gi", memory: "1Mi" }, FAILS),
  asks("several", { cpu: "99.0005", memory: "9Ti" }, FAILS),
  asks("extended", { [EXTENDED]: "3" }, FAILS),
  asks("extended-there", { [EXTENDED]: "2" }, SUCCEEDS),
  asks("extended-unknown", { "example.com/elsewhere": "7" }, SUCCEEDS),
  asks("whole-pod", {}, FAILS, { resources: { requests: { cpu: "64" } } }),
  asks("init", { cpu: "1m" }, FAILS, {
    initContainers: [viewer({ name: "init", resources: { requests: { cpu: "77" } } })],
  }),
  of("place-selector", ["5.1", "5.3"], { nodeSelector: { zone: "nowhere" } }, FAILS),
  of("place-selector-matches", ["5.1", "5.3"], { nodeSelector: { "kubernetes.io/os": "linux" } }, SUCCEEDS),
  placed("affinity", { key: "kubernetes.io/arch", operator: "In", values: ["pdp11", "vax"] }, FAILS),
  of("place-system", ["5.1", "5.4"], { os: { name: "windows" } }, FAILS),
  of("place-system-label", ["5.1", "5.4"], { nodeSelector: { "kubernetes.io/os": "windows" } }, FAILS),
  of("place-system-matches", ["5.1", "5.4"], { os: { name: "linux" } }, SUCCEEDS),
  placed("affinity-matches", { key: "zone", operator: "DoesNotExist" }, SUCCEEDS),
];

/**
 * This case uses the resource for lack of which others are rejected. It runs after those are gone, because their
 * messages contain the amount in use.
 */
export const takesRoom = ({ name }: Case): boolean => name === "room-extended-there";

/** A pod with a restart rule for exit code 42, whose action not every node supports. */
const ruled = (action: string) => ({
  restartPolicy: "Never",
  containers: [
    viewer({
      restartPolicy: "Never",
      restartPolicyRules: [{ action, exitCodes: { operator: "In", values: [42] } }],
    }),
  ],
});

/** Cases for agents with some feature gates disabled. */
export const WITHOUT_FEATURES_CASES: readonly Case[] = [
  of("feature-undeclared", ["5.10"], ruled("RestartAllContainers"), FAILS),
  of("feature-not-asked", ["5.10"], ruled("Restart"), SUCCEEDS),
  of("whole-pod-refused", ["5.9"], { resources: { requests: { cpu: "10m" } } }, FAILS),
  of("whole-pod-not-asked", ["5.9"], {}, SUCCEEDS),
];

/** Cases for a node that reports MemoryPressure. */
export const PRESSURE_CASES: readonly Case[] = [
  of("pressure-best-effort", ["5.6"], {}, FAILS),
  of("pressure-critical", ["5.6"], { priorityClassName: "system-node-critical" }, SUCCEEDS),
];

/** Pods of every shape that affects a cgroup value. All fit a machine with two CPUs, a few at a time. */
import type { Container, PodSpec } from "../../../src/api/gen/core-v1.ts";
import { BUSYBOX_IMAGE } from "../../cluster/images.ts";

export interface Case {
  readonly name: string;
  readonly spec: PodSpec;
  /** "cgroup": the resources are too small for a container to start; only the pod's own cgroup can be compared. */
  readonly expect: "running" | "cgroup";
}

type Amounts = Readonly<Record<string, string>>;

const container = (name: string, requests: Amounts, limits: Amounts): Container => ({
  name,
  image: BUSYBOX_IMAGE,
  command: ["sleep", "3600"],
  resources: { requests, limits },
});

const init = (name: string, requests: Amounts, limits: Amounts): Container => ({
  ...container(name, requests, limits),
  command: ["true"],
});

const sidecar = (name: string, requests: Amounts, limits: Amounts): Container => ({
  ...container(name, requests, limits),
  restartPolicy: "Always",
});

const app = (requests: Amounts, limits: Amounts = {}) => container("app", requests, limits);
const same = (amounts: Amounts, name = "app") => container(name, amounts, amounts);

const pod = (containers: readonly Container[], more: Partial<PodSpec> = {}): PodSpec => ({
  ...more,
  containers,
  nodeName: "n1",
  automountServiceAccountToken: false,
  terminationGracePeriodSeconds: 0,
});

const SMALL = { cpu: "20m", memory: "32Mi" };

const running: Readonly<Record<string, PodSpec>> = {
  "best-effort": pod([app({})]),
  "best-effort-zeros": pod([app({ cpu: "0", memory: "0" })]),
  "best-effort-two": pod([app({}), container("b", {}, {})]),
  "best-effort-storage": pod([app({ "ephemeral-storage": "1Mi" }, { "ephemeral-storage": "1Gi" })]),
  "guaranteed-small": pod([same(SMALL)]),
  "guaranteed-fraction": pod([same({ cpu: "0.125", memory: "48Mi" })]),
  "guaranteed-decimal": pod([same({ cpu: "50m", memory: "50M" })]),
  "guaranteed-odd-bytes": pod([same({ cpu: "33m", memory: "33333333" })]),
  "guaranteed-exponent": pod([same({ cpu: "5e-2", memory: "64e6" })]),
  "guaranteed-milli-bytes": pod([same({ cpu: "50m", memory: "50000000500m" })]),
  "guaranteed-two": pod([same(SMALL), same({ cpu: "30m", memory: "40Mi" }, "b")]),
  "guaranteed-one-cpu": pod([same({ cpu: "1", memory: "64Mi" })]),
  "guaranteed-and-a-half": pod([same({ cpu: "1500m", memory: "64Mi" })]),
  "guaranteed-with-init": pod([same(SMALL)], { initContainers: [init("i", SMALL, SMALL)] }),
  "guaranteed-larger-init": pod([same(SMALL)], {
    initContainers: [init("i", { cpu: "200m", memory: "96Mi" }, { cpu: "200m", memory: "96Mi" })],
  }),
  "guaranteed-sidecar": pod([same(SMALL)], { initContainers: [sidecar("s", SMALL, SMALL)] }),
  "limit-cpu-only": pod([app({}, { cpu: "30m" })]),
  "limit-memory-only": pod([app({}, { memory: "40Mi" })]),
  "limit-tiny-cpu": pod([app({}, { cpu: "5m" })]),
  "request-cpu": pod([app({ cpu: "100m" })]),
  "request-one-milli": pod([app({ cpu: "1m" })]),
  "request-two-milli": pod([app({ cpu: "2m" })]),
  "request-three-milli": pod([app({ cpu: "3m" })]),
  "request-below-milli": pod([app({ cpu: "100u" })]),
  "request-memory": pod([app({ memory: "100Mi" })]),
  "request-memory-large": pod([app({ memory: "4Gi" })]),
  "request-below-limit": pod([app({ cpu: "10m", memory: "16Mi" }, { cpu: "100m", memory: "64Mi" })]),
  "request-zero-limit": pod([app({ cpu: "0" }, { cpu: "100m" })]),
  "limit-huge": pod([app({ cpu: "1m", memory: "1Mi" }, { cpu: "1000", memory: "100Ti" })]),
  "limit-huge-exa": pod([app({ cpu: "1m", memory: "1Mi" }, { cpu: "64", memory: "7Ei" })]),
  "limit-fraction": pod([app({ cpu: "1m" }, { cpu: "0.0755", memory: "0.05Gi" })]),
  "one-limited-one-not": pod([app({ cpu: "10m" }, { cpu: "50m", memory: "64Mi" }), container("b", { cpu: "10m" }, {})]),
  "cpu-limited-throughout": pod([
    app({ cpu: "10m" }, { cpu: "50m" }),
    container("b", { cpu: "10m" }, { cpu: "60m", memory: "64Mi" }),
  ]),
  "many-containers": pod(
    ["a", "b", "c", "d", "e", "f", "g", "h"].map((name, index) =>
      container(name, { cpu: `${index + 1}m`, memory: `${index + 1}Mi` }, { memory: `${32 + index}Mi` }),
    ),
  ),
  "init-unlimited": pod([app({ cpu: "10m" }, { cpu: "50m", memory: "64Mi" })], {
    initContainers: [init("i", { cpu: "10m" }, {})],
  }),
  "init-larger": pod([app({ cpu: "10m" }, { cpu: "50m", memory: "64Mi" })], {
    initContainers: [
      init("i", { cpu: "150m" }, { cpu: "150m", memory: "32Mi" }),
      init("j", { cpu: "5m" }, { cpu: "100m", memory: "128Mi" }),
    ],
  }),
  "sidecar-adds": pod([app({ cpu: "10m" }, { cpu: "50m", memory: "64Mi" })], {
    initContainers: [sidecar("s", { cpu: "20m" }, { cpu: "40m", memory: "32Mi" })],
  }),
  "sidecar-covers-init": pod([app({ cpu: "10m" }, { cpu: "50m", memory: "64Mi" })], {
    initContainers: [sidecar("s", { cpu: "20m" }, { cpu: "40m", memory: "32Mi" }), init("i", { cpu: "30m" }, {})],
  }),
  "init-before-sidecar": pod([app({ cpu: "10m", memory: "16Mi" })], {
    initContainers: [init("i", { cpu: "100m" }, {}), sidecar("s", { memory: "2Mi" }, {})],
  }),
  "pod-level-limits": pod([app({}), container("b", {}, {})], {
    resources: { requests: { cpu: "40m", memory: "64Mi" }, limits: { cpu: "80m", memory: "128Mi" } },
  }),
  "pod-level-guaranteed": pod([app({}), container("b", { cpu: "10m" }, {})], {
    resources: { requests: { cpu: "80m", memory: "96Mi" }, limits: { cpu: "80m", memory: "96Mi" } },
  }),
  "pod-level-cpu-only": pod([app({ memory: "16Mi" }, { memory: "64Mi" }), container("b", {}, { memory: "32Mi" })], {
    resources: { limits: { cpu: "100m" } },
  }),
  "pod-level-request": pod([app({ cpu: "10m", memory: "32Mi" }), container("b", { memory: "8Mi" }, {})], {
    resources: { requests: { cpu: "50m", memory: "256Mi" } },
  }),
  "pod-level-over-containers": pod([app({ cpu: "10m" }, { cpu: "60m", memory: "40Mi" })], {
    resources: { requests: { cpu: "30m", memory: "64Mi" }, limits: { cpu: "200m", memory: "100Mi" } },
    initContainers: [sidecar("s", { memory: "16Mi" }, {})],
  }),
  "overhead-best-effort": pod([app({})], { runtimeClassName: "with-overhead" }),
  "overhead-burstable": pod([app({ cpu: "10m" }, { cpu: "50m" })], { runtimeClassName: "with-overhead" }),
  "overhead-guaranteed": pod([same(SMALL)], { runtimeClassName: "with-overhead" }),
  "overhead-pod-level": pod([app({})], {
    runtimeClassName: "with-overhead",
    resources: { requests: { cpu: "40m" }, limits: { cpu: "40m", memory: "64Mi" } },
  }),
  "node-critical": pod([app({ cpu: "10m" })], { priorityClassName: "system-node-critical" }),
  "cluster-critical": pod([app({ cpu: "10m" })], { priorityClassName: "system-cluster-critical" }),
};

const tooSmall: Readonly<Record<string, PodSpec>> = {
  "memory-five-thousand": pod([same({ cpu: "20m", memory: "5000" })]),
  "memory-one-page": pod([app({ cpu: "1m" }, { memory: "4096" })]),
};

export const CASES: readonly Case[] = [
  ...Object.entries(running).map(([name, spec]) => ({ name, spec, expect: "running" as const })),
  ...Object.entries(tooSmall).map(([name, spec]) => ({ name, spec, expect: "cgroup" as const })),
];

export const RUNTIME_CLASS = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  metadata: { name: "with-overhead" },
  handler: "test-handler",
  overhead: { podFixed: { cpu: "15m", memory: "20Mi" } },
};

/**
 * A machine, a runtime and options for tests of the node's loops and decisions: one-line fixtures that a test can
 * change.
 */
import type { ResourceAmounts } from "../../src/domain/node/capacity.ts";
import { NO_NOT_READY_REASONS, type NodeOptions, type NodeSnapshot } from "../../src/domain/node/node-status.ts";
import { NO_PRESSURE } from "../../src/domain/node/pressure.ts";
import type { RuntimeHealth } from "../../src/domain/node/runtime-health.ts";
import type { MachineFacts } from "../../src/ports/machine.ts";

export const machineFacts: MachineFacts = {
  cpus: 2,
  onlineCpus: "0-1",
  physicalCores: 1,
  sockets: 1,
  memoryBytes: 8_341_000_192n,
  swapBytes: 0n,
  hugepages: new Map([
    [1_073_741_824n, 0n],
    [2_097_152n, 4_194_304n],
  ]),
  machineId: "machine",
  systemUuid: "system",
  bootId: "boot-1",
  kernelVersion: "6.1.0",
  osImage: "Debian GNU/Linux 12 (bookworm)",
  hostname: "n1",
  pidsMax: 32_768,
  selinux: false,
  apparmor: false,
};

export const nodeOptions = (change: Partial<NodeOptions> = {}): NodeOptions => ({
  name: "n1",
  hostname: "n1",
  nodeIps: [],
  externalCloud: false,
  maxPods: 110,
  podsPerCore: 0,
  kubeletVersion: "v1.36.4",
  architecture: "amd64",
  kubeletPort: 10250,
  imagesMax: 50,
  localStorage: true,
  featureGates: {},
  allocatableOf: (capacity: ResourceAmounts) => capacity,
  ...change,
});

type Answered = Extract<RuntimeHealth, { kind: "answered" }>;

export const runtimeAnswered = (change: Partial<Answered> = {}): Answered => ({
  kind: "answered",
  status: {
    conditions: [
      { type: "RuntimeReady", status: true, reason: "", message: "" },
      { type: "NetworkReady", status: true, reason: "", message: "" },
    ],
    handlers: [],
    supplementalGroupsPolicy: true,
    userNamespacesHostNetwork: false,
    info: {},
  },
  version: { name: "containerd", version: "v2.2.0", apiVersion: "v1" },
  readiness: "ready",
  troubles: [],
  ...change,
});

export const nodeSnapshot = (change: Partial<NodeSnapshot> = {}): NodeSnapshot => ({
  nowWallMs: Date.UTC(2026, 0, 1),
  machine: machineFacts,
  rootBytes: 100_000_000_000n,
  addresses: { kind: "set", addresses: [{ type: "InternalIP", address: "192.0.2.1" }] },
  runtime: runtimeAnswered(),
  pressure: NO_PRESSURE,
  images: [],
  volumesInUse: undefined,
  notReadyReasons: NO_NOT_READY_REASONS,
  qosCgroups: { kind: "ready" },
  ...change,
});

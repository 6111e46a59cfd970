import assert from "node:assert/strict";
import { test } from "node:test";
import { parseQuantity } from "../../base/quantity.ts";
import { withDefaults } from "./defaults.ts";
import { resolveGates } from "./feature-gates.ts";
import type { WrittenConfiguration } from "./fields.ts";
import { configurationFault } from "./validate.ts";

interface Circumstances {
  readonly gates?: Readonly<Record<string, boolean>>;
  readonly cgroupVersion?: 1 | 2;
}

function faultOf(written: WrittenConfiguration, { gates = {}, cgroupVersion = 2 }: Circumstances = {}) {
  const resolved = resolveGates(gates);
  return configurationFault({ config: withDefaults(written, resolved), gates: resolved, cgroupVersion });
}

const second = 1_000_000_000n;
const taint = { key: "a", value: "", effect: "NoSchedule", timeAdded: undefined };

/** Messages of the Go kubelet v1.36.4, without the prefix "invalid configuration: ". */
const FAULTS: readonly (readonly [string, WrittenConfiguration, Circumstances?])[] = [
  ["nodeLeaseDurationSeconds must be greater than 0", { nodeLeaseDurationSeconds: -1 }],
  [
    "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified",
    { systemCgroups: "/a" },
  ],
  ["eventBurst (--event-burst) -1 must not be a negative number", { eventBurst: -1 }],
  ["eventRecordQPS (--event-qps) -1 must not be a negative number", { eventRecordQPS: -1 }],
  ["healthzPort (--healthz-port) 65536 must be between 1 and 65535, inclusive", { healthzPort: 65536 }],
  [
    "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1ms and 1sec, inclusive",
    { cpuCFSQuotaPeriod: 2n * second },
  ],
  [
    "imageGCHighThresholdPercent (--image-gc-high-threshold) 101 must be between 0 and 100, inclusive",
    { imageGCHighThresholdPercent: 101 },
  ],
  [
    "imageGCLowThresholdPercent (--image-gc-low-threshold) -1 must be between 0 and 100, inclusive",
    { imageGCLowThresholdPercent: -1 },
  ],
  [
    "imageGCLowThresholdPercent (--image-gc-low-threshold) 85 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 85",
    { imageGCLowThresholdPercent: 85 },
  ],
  ["imageMinimumGCAge -1s must not be negative", { imageMinimumGCAge: -second }],
  ["imageMaximumGCAge -1s must not be negative", { imageMaximumGCAge: -second }],
  ["imageMaximumGCAge 1s must be greater than imageMinimumGCAge 2m0s", { imageMaximumGCAge: second }],
  ["iptablesDropBit (--iptables-drop-bit) 32 must be between 0 and 31, inclusive", { iptablesDropBit: 32 }],
  [
    "iptablesMasqueradeBit (--iptables-masquerade-bit) -1 must be between 0 and 31, inclusive",
    { iptablesMasqueradeBit: -1 },
  ],
  ["kubeAPIBurst (--kube-api-burst) -1 must not be a negative number", { kubeAPIBurst: -1 }],
  ["kubeAPIQPS (--kube-api-qps) -1 must not be a negative number", { kubeAPIQPS: -1 }],
  ["nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater", { nodeStatusMaxImages: -2 }],
  ["maxOpenFiles (--max-open-files) -1 must not be a negative number", { maxOpenFiles: -1n }],
  ["maxPods (--max-pods) -1 must not be a negative number", { maxPods: -1 }],
  ["oomScoreAdj (--oom-score-adj) -1001 must be between -1000 and 1000, inclusive", { oomScoreAdj: -1001 }],
  ["podsPerCore (--pods-per-core) -1 must not be a negative number", { podsPerCore: -1 }],
  ["port (--port) -1 must be between 1 and 65535, inclusive", { port: -1 }],
  ["readOnlyPort (--read-only-port) 65536 must be between 0 and 65535, inclusive", { readOnlyPort: 65536 }],
  ["registryBurst (--registry-burst) -1 must not be a negative number", { registryBurst: -1 }],
  ["registryPullQPS (--registry-qps) -1 must not be a negative number", { registryPullQPS: -1 }],
  ["maxParallelImagePulls 0 must be a positive number", { maxParallelImagePulls: 0 }],
  [
    "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false",
    { maxParallelImagePulls: 2, serializeImagePulls: true },
  ],
  [
    "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate",
    { serverTLSBootstrap: true },
    { gates: { RotateKubeletServerCertificate: false } },
  ],
  ["runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set", { runOnce: true }],
  ["taint.TimeAdded is not nil", { registerWithTaints: [{ ...taint, timeAdded: "2026-01-01T00:00:00Z" }] }],
  [
    'topologyManagerPolicy (--topology-manager-policy) "x" must be one of: ["none" "best-effort" "restricted" "single-numa-node"]',
    { topologyManagerPolicy: "x" },
  ],
  [
    'topologyManagerScope (--topology-manager-scope) "x" must be one of: "container", or "pod"',
    { topologyManagerScope: "x" },
  ],
  [
    "shutdownGracePeriodCriticalPods {2s} must be <= shutdownGracePeriod {1s}",
    { shutdownGracePeriod: second, shutdownGracePeriodCriticalPods: 2n * second },
  ],
  ["shutdownGracePeriod {500ms} must be either zero or otherwise >= 1 sec", { shutdownGracePeriod: second / 2n }],
  [
    "shutdownGracePeriodCriticalPods {500ms} must be either zero or otherwise >= 1 sec",
    { shutdownGracePeriod: second, shutdownGracePeriodCriticalPods: second / 2n },
  ],
  [
    "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown",
    { shutdownGracePeriod: second },
    {
      gates: {
        GracefulNodeShutdown: false,
        GracefulNodeShutdownBasedOnPodPriority: false,
        WindowsGracefulNodeShutdown: false,
      },
    },
  ],
  [
    "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time",
    {
      shutdownGracePeriod: second,
      shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 1n }],
    },
  ],
  [
    "Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority",
    { shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 1n }] },
    { gates: { GracefulNodeShutdownBasedOnPodPriority: false } },
  ],
  ['memorySwap.swapBehavior "x" must be one of: "", "LimitedSwap" or "NoSwap"', { "memorySwap.swapBehavior": "x" }],
  [
    "CrashLoopBackOff.MaxContainerRestartPeriod (got: 301 seconds) must be set between 1s and 300s",
    { "crashLoopBackOff.maxContainerRestartPeriod": 301n * second },
  ],
  [
    "FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set",
    { "crashLoopBackOff.maxContainerRestartPeriod": second },
    { gates: { KubeletCrashLoopBackOffMax: false } },
  ],
  [
    'both "kube-reserved" and "kube-reserved-compressible" cannot be specified together in enforceNodeAllocatable (--enforce-node-allocatable)',
    { enforceNodeAllocatable: ["kube-reserved", "kube-reserved-compressible"], kubeReservedCgroup: "/k" },
  ],
  [
    'duplicated enforcements "pods" in enforceNodeAllocatable (--enforce-node-allocatable)',
    { enforceNodeAllocatable: ["pods", "pods"] },
  ],
  [
    'systemReservedCgroup (--system-reserved-cgroup) must be specified when "system-reserved" or "system-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)',
    { enforceNodeAllocatable: ["system-reserved"] },
  ],
  [
    'kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" or "kube-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)',
    { enforceNodeAllocatable: ["kube-reserved-compressible"] },
  ],
  [
    'enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when "none" is specified',
    { enforceNodeAllocatable: ["pods", "none"] },
  ],
  [
    'option "x" specified for enforceNodeAllocatable (--enforce-node-allocatable). Valid options are "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"',
    { enforceNodeAllocatable: ["x"] },
  ],
  [
    'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in enforceNodeAllocatable (--enforce-node-allocatable)',
    { cgroupsPerQOS: false },
  ],
  [
    'option "x" specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"',
    { hairpinMode: "x" },
  ],
  [
    'option "x" specified for imagePullCredentialsVerificationPolicy. Valid options are "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"',
    { imagePullCredentialsVerificationPolicy: "x" },
  ],
  [
    'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
    { preloadedImagesVerificationAllowlist: ["a"] },
  ],
  [
    "invalid image pattern in `preloadedImagesVerificationAllowlist`: neither tag nor digest is accepted in an image reference: a:1",
    {
      imagePullCredentialsVerificationPolicy: "NeverVerifyAllowlistedImages",
      preloadedImagesVerificationAllowlist: ["a:1"],
    },
  ],
  [
    "`imagePullCredentialsVerificationPolicy` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled",
    { imagePullCredentialsVerificationPolicy: "NeverVerify" },
    { gates: { KubeletEnsureSecretPulledImages: false } },
  ],
  [
    "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
    { reservedSystemCPUs: "0", kubeReservedCgroup: "/k" },
  ],
  [
    'unable to parse reservedSystemCPUs (--reserved-cpus) a, error: strconv.Atoi: parsing "a": invalid syntax',
    { reservedSystemCPUs: "a" },
  ],
  [
    'unable to parse reservedSystemCPUs (--reserved-cpus) 3-1, error: invalid range "3-1" (3 > 1)',
    { reservedSystemCPUs: "3-1" },
  ],
  [
    'the limit type "cpu" for NUMA node 0 is not supported, only [memory hugepages-<HugePageSize>] is accepted',
    { reservedMemory: [{ numaNode: 0, limits: { cpu: parseQuantity("1") } }] },
  ],
  [
    'reserved memory may not be zero for NUMA node 0 and resource "memory"',
    { reservedMemory: [{ numaNode: 0, limits: { memory: parseQuantity("0") } }] },
  ],
  [
    'the reserved memory has a duplicate value for NUMA node 0 and resource "memory"',
    { reservedMemory: [0, 0].map((numaNode) => ({ numaNode, limits: { memory: parseQuantity("1") } })) },
  ],
  [
    "singleProcessOOMKill must not be explicitly set to false when using cgroup v1",
    { singleProcessOOMKill: false, failCgroupV1: false },
    { cgroupVersion: 1 },
  ],
  ["userNamespaces.idsPerPod must not be less than 65536", { "userNamespaces.idsPerPod": 1n }],
  ["userNamespaces.idsPerPod must be a multiple of 65536", { "userNamespaces.idsPerPod": 65_537n }],
  ["userNamespaces.idsPerPod must not be more than 4294967295", { "userNamespaces.idsPerPod": 65_536n * 65_536n }],
  ["memoryThrottlingFactor 1.5 must be greater than 0 and less than or equal to 1.0", { memoryThrottlingFactor: 1.5 }],
  [
    'memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled',
    { memoryReservationPolicy: "TieredReservation" },
  ],
  [
    'option "x" specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"',
    { memoryReservationPolicy: "x" },
  ],
  [
    "enableSystemLogHandler is required for enableSystemLogQuery",
    { enableSystemLogQuery: true, enableSystemLogHandler: false },
  ],
  ["containerLogMaxWorkers must be greater than or equal to 1", { containerLogMaxWorkers: 0 }],
  [
    "containerLogMonitorInterval must be a positive time duration greater than or equal to 3s",
    { containerLogMonitorInterval: 2n * second },
  ],
  ["containerLogMaxFiles must be greater than 1", { containerLogMaxFiles: 1 }],
  ['pod logs path "logs" must be absolute path', { podLogsDir: "logs" }],
  ['pod logs path "/a/../b" must be normalized', { podLogsDir: "/a/../b" }],
  ['pod logs path "/é" mut contains ASCII characters only', { podLogsDir: "/é" }],
];

/** The ledger rows that a message proves. Some messages state bounds that the row of a default names too. */
function rowsOf(text: string): string {
  if (text.includes("cgroup v1")) return "[1.9] [14.1]";
  if (text.startsWith("pod logs path")) return "[1.7] [1.9]";
  if (/^containerLogMonitorInterval|^CrashLoopBackOff.*got/.test(text)) return "[1.8] [1.9]";
  return "[1.9]";
}

for (const [text, written, circumstances] of FAULTS) {
  void test(`${rowsOf(text)} ${text}`, () => {
    const expected = `failed to validate kubelet configuration, error: invalid configuration: ${text}`;
    assert.equal(faultOf(written, circumstances), expected);
  });
}

for (const [text, written, circumstances] of [
  ["invalid taint: {  x <nil>}", { registerWithTaints: [{ key: "", value: "", effect: "x", timeAdded: undefined }] }],
  [
    "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release",
    {},
    { cgroupVersion: 1 },
  ],
  [
    "invalid showHiddenMetricsForVersion: showHiddenMetricsForVersion: Invalid value: \"1.2\": must be omitted or have the value '1.35'; only the previous minor version is allowed",
    { showHiddenMetricsForVersion: "1.2" },
  ],
  [
    "tracing.samplingRatePerMillion: Invalid value: -1: sampling rate must be positive",
    { "tracing.samplingRatePerMillion": -1 },
  ],
  [
    'tracing.endpoint: Invalid value: "http://x": unsupported scheme: http.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md',
    { "tracing.endpoint": "http://x" },
  ],
] as const satisfies readonly (readonly [string, WrittenConfiguration, Circumstances?])[]) {
  void test(`${rowsOf(text)} ${text}`, () => {
    assert.equal(faultOf(written, circumstances), `failed to validate kubelet configuration, error: ${text}`);
  });
}

for (const [text, written] of [
  ['logging.format: Invalid value: "xml": Unsupported log format', { "logging.format": "xml" }],
  ['logging.flushFrequency: Invalid value: "-1s": Must be greater than zero', { "logging.flushFrequency": -second }],
  [
    "logging.vmodule: Forbidden: Only supported for text log format",
    { "logging.format": "json", "logging.vmodule": [{ filePattern: "a", verbosity: 1 }] },
  ],
  [
    "logging.vmodule[0]: Required value: File pattern must not be empty",
    { "logging.vmodule": [{ filePattern: "", verbosity: 1 }] },
  ],
  [
    "logging.options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled",
    { "logging.options.text.splitStream": true },
  ],
] as const satisfies readonly (readonly [string, WrittenConfiguration])[]) {
  void test(`[1.9] [22.4] ${text}`, () => {
    assert.equal(faultOf(written), `initialize logging: ${text}`);
  });
}

void test("[1.9] all faults are reported at once, in upstream's order and without duplicates", () => {
  assert.equal(
    faultOf({ port: -1, maxPods: -2, nodeLeaseDurationSeconds: -1 }),
    "failed to validate kubelet configuration, error: [invalid configuration: nodeLeaseDurationSeconds must be greater than 0, " +
      "invalid configuration: maxPods (--max-pods) -2 must not be a negative number, " +
      "invalid configuration: port (--port) -1 must be between 1 and 65535, inclusive]",
  );
});

void test('[1.28] cgroupsPerQOS=false is valid with enforceNodeAllocatable empty or "none"', () => {
  assert.equal(faultOf({ cgroupsPerQOS: false, enforceNodeAllocatable: [] }), undefined);
  assert.equal(faultOf({ cgroupsPerQOS: false, enforceNodeAllocatable: ["none"] }), undefined);
});

void test("[1.9] default values are valid", () => {
  assert.equal(faultOf({}), undefined);
});

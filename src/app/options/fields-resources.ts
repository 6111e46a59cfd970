/** Fields of cgroups, reservations, eviction, and the CPU, memory and topology managers. */
import { accepted, field, pointer, supported, unimplemented } from "./field.ts";
import { milliseconds, minutes, seconds } from "./value-types.ts";

const managers = unimplemented("the CPU, memory and topology managers");
const systemCgroups = unimplemented(
  "moving system processes into their cgroups; the statistics already include those cgroups",
);

export const resourceFields = {
  kubeletCgroups: field("string", "", "kubelet-cgroups", systemCgroups),
  systemCgroups: field("string", "", "system-cgroups", systemCgroups),
  cgroupRoot: field("string", "", "cgroup-root", supported),
  cgroupsPerQOS: field("bool", true, "cgroups-per-qos", unimplemented("pods without their own cgroups"), pointer),
  cgroupDriver: field("string", "cgroupfs", "cgroup-driver", supported),
  cpuManagerPolicy: field("string", "none", "cpu-manager-policy", managers),
  singleProcessOOMKill: field("bool", undefined, "", supported, pointer),
  cpuManagerPolicyOptions: field("stringMap", undefined, "cpu-manager-policy-options", managers),
  cpuManagerReconcilePeriod: field("duration", seconds(10), "cpu-manager-reconcile-period", managers),
  memoryManagerPolicy: field("string", "None", "memory-manager-policy", managers),
  topologyManagerPolicy: field("string", "none", "topology-manager-policy", managers),
  topologyManagerScope: field("string", "container", "topology-manager-scope", managers),
  topologyManagerPolicyOptions: field("stringMap", undefined, "topology-manager-policy-options", managers),
  qosReserved: field("stringMap", undefined, "qos-reserved", supported),
  reservedMemory: field("memoryReservations", undefined, "reserved-memory", managers),
  podPidsLimit: field("int64", -1n, "pod-max-pids", supported, pointer),
  cpuCFSQuota: field("bool", true, "cpu-cfs-quota", supported, pointer),
  cpuCFSQuotaPeriod: field("duration", milliseconds(100), "cpu-cfs-quota-period", supported, pointer),
  evictionHard: field("stringMap", undefined, "eviction-hard", supported),
  evictionSoft: field("stringMap", undefined, "eviction-soft", supported),
  evictionSoftGracePeriod: field("stringMap", undefined, "eviction-soft-grace-period", supported),
  evictionPressureTransitionPeriod: field("duration", minutes(5), "eviction-pressure-transition-period", supported),
  evictionMaxPodGracePeriod: field("int32", 0, "eviction-max-pod-grace-period", supported),
  evictionMinimumReclaim: field("stringMap", undefined, "eviction-minimum-reclaim", supported),
  mergeDefaultEvictionSettings: field("bool", false, "", supported, pointer),
  kernelMemcgNotification: field(
    "bool",
    false,
    "kernel-memcg-notification",
    accepted("Deckhand measures memory every second instead"),
  ),
  failSwapOn: field("bool", true, "fail-swap-on", supported, pointer),
  "memorySwap.swapBehavior": field("string", "", "", supported),
  systemReserved: field("stringMap", undefined, "system-reserved", supported),
  kubeReserved: field("stringMap", undefined, "kube-reserved", supported),
  reservedSystemCPUs: field("string", "", "reserved-cpus", supported),
  systemReservedCgroup: field("string", "", "system-reserved-cgroup", supported),
  kubeReservedCgroup: field("string", "", "kube-reserved-cgroup", supported),
  enforceNodeAllocatable: field("strings", ["pods"], "enforce-node-allocatable", supported),
  memoryThrottlingFactor: field("float", 0.9, "", supported, pointer),
  memoryReservationPolicy: field("string", "None", "", supported, { goType: "v1beta1.MemoryReservationPolicy" }),
  failCgroupV1: field("bool", true, "fail-cgroupv1", supported, pointer),
  localStorageCapacityIsolation: field("bool", true, "local-storage-capacity-isolation", supported, pointer),
  oomScoreAdj: field("int32", -999, "oom-score-adj", supported, pointer),
  maxOpenFiles: field(
    "int64",
    1_000_000n,
    "max-open-files",
    accepted("Node raises its own limit to the hard limit at start"),
  ),
} as const;

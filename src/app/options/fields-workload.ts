/** Fields of the runtime, images, containers, volumes and graceful node shutdown. */
import { accepted, field, path, pointer, supported, unimplemented } from "./field.ts";
import { minutes, seconds } from "./value-types.ts";

const verification = unimplemented("verification of pull credentials");
const attach = unimplemented("attached volumes; the Node's annotation already follows the field");
const watches = accepted("objects are always watched, so an edit arrives with its event");
const shutdown = unimplemented("graceful shutdown of the node");
const noEffect = accepted("it has no effect in the Go kubelet either");

export const workloadFields = {
  containerRuntimeEndpoint: field(
    "string",
    "unix:///run/containerd/containerd.sock",
    "container-runtime-endpoint",
    supported,
  ),
  imageServiceEndpoint: field("string", "", "image-service-endpoint", supported),
  runtimeRequestTimeout: field("duration", minutes(2), "runtime-request-timeout", supported),
  registryPullQPS: field("int32", 5, "registry-qps", supported, pointer),
  registryBurst: field("int32", 10, "registry-burst", supported),
  serializeImagePulls: field("bool", true, "serialize-image-pulls", supported, pointer),
  maxParallelImagePulls: field("int32", undefined, "", supported, pointer),
  imagePullCredentialsVerificationPolicy: field("string", "NeverVerifyPreloadedImages", "", verification, {
    goType: "v1beta1.ImagePullCredentialsVerificationPolicy",
  }),
  preloadedImagesVerificationAllowlist: field("strings", undefined, "", verification),
  imageMinimumGCAge: field("duration", minutes(2), "minimum-image-ttl-duration", supported),
  imageMaximumGCAge: field("duration", 0n, "", supported),
  imageGCHighThresholdPercent: field("int32", 85, "image-gc-high-threshold", supported, pointer),
  imageGCLowThresholdPercent: field("int32", 80, "image-gc-low-threshold", supported, pointer),
  "crashLoopBackOff.maxContainerRestartPeriod": field("duration", minutes(5), "", supported, pointer),
  containerLogMaxSize: field("string", "10Mi", "container-log-max-size", supported),
  containerLogMaxFiles: field("int32", 5, "container-log-max-files", supported, pointer),
  containerLogMaxWorkers: field("int32", 1, "", supported, pointer),
  containerLogMonitorInterval: field("duration", seconds(10), "", supported, pointer),
  seccompDefault: field("bool", false, "seccomp-default", supported, pointer),
  allowedUnsafeSysctls: field("strings", undefined, "allowed-unsafe-sysctls", supported),
  "userNamespaces.idsPerPod": field("int64", undefined, "", supported, pointer),
  configMapAndSecretChangeDetectionStrategy: field("string", "Watch", "", watches, {
    goType: "v1beta1.ResourceChangeDetectionStrategy",
  }),
  volumeStatsAggPeriod: field("duration", minutes(1), "volume-stats-agg-period", supported),
  volumePluginDir: field(
    "string",
    "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/",
    "volume-plugin-dir",
    unimplemented("FlexVolume plugins"),
    path,
  ),
  enableControllerAttachDetach: field("bool", true, "enable-controller-attach-detach", attach, pointer),
  shutdownGracePeriod: field("duration", 0n, "", shutdown),
  shutdownGracePeriodCriticalPods: field("duration", 0n, "", shutdown),
  shutdownGracePeriodByPodPriority: field("priorityGracePeriods", undefined, "", shutdown),
  protectKernelDefaults: field("bool", false, "protect-kernel-defaults", supported),
  makeIPTablesUtilChains: field("bool", true, "make-iptables-util-chains", supported, pointer),
  iptablesMasqueradeBit: field("int32", 14, "", noEffect, pointer),
  iptablesDropBit: field("int32", 15, "", noEffect, pointer),
  hairpinMode: field("string", "promiscuous-bridge", "hairpin-mode", noEffect),
} as const;

/** Rules for amounts (ranges, thresholds, ports), in the order in which the Go kubelet reports them. */
import { between, named, notNegative, port, type Rule, spell, spellStruct, when } from "./rule.ts";
import { milliseconds, seconds } from "./value-types.ts";

const quotaPeriod: Rule = ({ config: { cpuCFSQuotaPeriod: period }, gates }) => {
  const what = `${named("cpuCFSQuotaPeriod")} ${spellStruct(period)}`;
  if (!gates.CustomCPUCFSQuotaPeriod) {
    return when(period !== milliseconds(100), `${what} requires feature gate CustomCPUCFSQuotaPeriod`);
  }
  return when(period < milliseconds(1) || period > seconds(1), `${what} must be between 1ms and 1sec, inclusive`);
};

const imageThresholds: Rule = ({ config: { imageGCLowThresholdPercent: low, imageGCHighThresholdPercent: high } }) =>
  when(
    low >= high,
    `${named("imageGCLowThresholdPercent")} ${low} must be less than ${named("imageGCHighThresholdPercent")} ${high}`,
  );

const imageAges: Rule = ({ config: { imageMinimumGCAge: least, imageMaximumGCAge: most }, gates }) => [
  ...when(
    most !== 0n && !gates.ImageMaximumGCAge,
    "ImageMaximumGCAge feature gate is required for Kubelet configuration option imageMaximumGCAge",
  ),
  ...when(least < 0n, `imageMinimumGCAge ${spell(least)} must not be negative`),
  ...when(most < 0n, `imageMaximumGCAge ${spell(most)} must not be negative`),
  ...when(
    most > 0n && most <= least,
    `imageMaximumGCAge ${spell(most)} must be greater than imageMinimumGCAge ${spell(least)}`,
  ),
];

/** Both fields have lost their flag, but upstream's message still names it. */
const iptablesBit =
  (path: "iptablesDropBit" | "iptablesMasqueradeBit", flag: string): Rule =>
  ({ config }) =>
    when(
      config[path] < 0 || config[path] > 31,
      `${path} (--${flag}) ${config[path]} must be between 0 and 31, inclusive`,
    );

const parallelPulls: Rule = ({ config: { maxParallelImagePulls: most, serializeImagePulls } }) => [
  ...when(most !== undefined && most < 1, `maxParallelImagePulls ${most} must be a positive number`),
  ...when(
    serializeImagePulls && most !== undefined && most > 1,
    "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false",
  ),
];

export const NUMBER_RULES: readonly Rule[] = [
  ({ config }) => when(config.nodeLeaseDurationSeconds <= 0, "nodeLeaseDurationSeconds must be greater than 0"),
  ({ config }) =>
    when(
      config.systemCgroups !== "" && config.cgroupRoot === "",
      `${named("systemCgroups")} was specified and ${named("cgroupRoot")} was not specified`,
    ),
  notNegative("eventBurst"),
  notNegative("eventRecordQPS"),
  port("healthzPort", { orNone: true, said: "1" }),
  quotaPeriod,
  between("imageGCHighThresholdPercent", 0, 100),
  between("imageGCLowThresholdPercent", 0, 100),
  imageThresholds,
  imageAges,
  iptablesBit("iptablesDropBit", "iptables-drop-bit"),
  iptablesBit("iptablesMasqueradeBit", "iptables-masquerade-bit"),
  notNegative("kubeAPIBurst"),
  notNegative("kubeAPIQPS"),
  ({ config: { nodeStatusMaxImages: most } }) =>
    when(most < -1, `${named("nodeStatusMaxImages")} ${most} must be -1 or greater`),
  notNegative("maxOpenFiles"),
  notNegative("maxPods"),
  between("oomScoreAdj", -1000, 1000),
  notNegative("podsPerCore"),
  port("port", { orNone: false, said: "1" }),
  port("readOnlyPort", { orNone: true, said: "0" }),
  notNegative("registryBurst"),
  notNegative("registryPullQPS"),
  parallelPulls,
  ({ config: { serverTLSBootstrap }, gates }) =>
    when(
      serverTLSBootstrap && !gates.RotateKubeletServerCertificate,
      `serverTLSBootstrap ${serverTLSBootstrap} requires feature gate RotateKubeletServerCertificate`,
    ),
  ({ config: { runOnce } }) =>
    when(runOnce, `runOnce (--runOnce) ${runOnce}, Runonce mode has been deprecated and should not be set`),
];

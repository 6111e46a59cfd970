/** Defaults of unset fields. Some depend on another field or a feature gate. */
import type { FeatureGates } from "./feature-gates.ts";
import { type Configuration, FIELD_PATHS, type FieldPath, fieldOf, type WrittenConfiguration } from "./fields.ts";
import { isZero, type Value } from "./value-types.ts";

export const DEFAULT_EVICTION_HARD: Readonly<Record<string, string>> = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
};

/** Without --config the kubelet is as permissive as it was before there was a configuration file. */
export const LEGACY: WrittenConfiguration = {
  "authentication.anonymous.enabled": true,
  "authentication.webhook.enabled": false,
  "authorization.mode": "AlwaysAllow",
  readOnlyPort: 10255,
};

export function isUnset(path: FieldPath, value: Value | undefined): boolean {
  return value === undefined || (!fieldOf(path).keepsZero && isZero(value));
}

export function withDefaults(written: WrittenConfiguration, gates: FeatureGates): Configuration {
  const values = new Map<FieldPath, Value | undefined>();
  for (const path of FIELD_PATHS) {
    values.set(path, isUnset(path, written[path]) ? fieldOf(path).initial : written[path]);
  }
  const { nodeStatusUpdateFrequency, nodeStatusReportFrequency, maxParallelImagePulls, serializeImagePulls } = written;
  if (isUnset("nodeStatusReportFrequency", nodeStatusReportFrequency) && nodeStatusUpdateFrequency) {
    values.set("nodeStatusReportFrequency", nodeStatusUpdateFrequency);
  }
  if (serializeImagePulls === undefined) values.set("serializeImagePulls", (maxParallelImagePulls ?? 1) < 2);
  if ((written.podPidsLimit ?? -1n) < 0n) values.set("podPidsLimit", -1n);
  for (const [path, gate] of GATED) {
    if (!gates[gate]) values.set(path, isUnset(path, written[path]) ? undefined : written[path]);
  }
  return Object.fromEntries(values) as Configuration;
}

const GATED = [
  ["crashLoopBackOff.maxContainerRestartPeriod", "KubeletCrashLoopBackOffMax"],
  ["imagePullCredentialsVerificationPolicy", "KubeletEnsureSecretPulledImages"],
] as const;

/**
 * Only a --config file brings the default thresholds. Thresholds in the file replace all of them unless it requests a
 * merge.
 */
export function withEvictionDefaults(config: Configuration): Configuration {
  const { evictionHard, mergeDefaultEvictionSettings } = config;
  if (evictionHard === undefined) return { ...config, evictionHard: DEFAULT_EVICTION_HARD };
  if (!mergeDefaultEvictionSettings) return config;
  return { ...config, evictionHard: { ...DEFAULT_EVICTION_HARD, ...evictionHard } };
}

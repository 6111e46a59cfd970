/**
 * What a pod may ask for that is not built yet. Such a pod is rejected with the field's name, never run without it. The table shrinks
 * with each step of the project.
 */
import type { Container, Pod, Volume, VolumeProjection } from "../../api/gen/core-v1.ts";

export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

type PodCheck = readonly [field: string, asks: (pod: Pod) => boolean];
type ContainerCheck = readonly [field: string, asks: (container: Container) => boolean];

const some = (list: readonly unknown[] | undefined) => list !== undefined && list.length > 0;

const ofPod: readonly PodCheck[] = [
  ["spec.initContainers", ({ spec }) => some(spec?.initContainers)],
  ["spec.ephemeralContainers", ({ spec }) => some(spec?.ephemeralContainers)],
  ["spec.resourceClaims", ({ spec }) => some(spec?.resourceClaims)],
  ["spec.runtimeClassName", ({ spec }) => (spec?.runtimeClassName ?? "") !== ""],
  ["spec.hostUsers", ({ spec }) => spec?.hostUsers === false],
  ["spec.securityContext.sysctls", ({ spec }) => some(spec?.securityContext?.sysctls)],
  ["spec.securityContext.runAsNonRoot", ({ spec }) => spec?.securityContext?.runAsNonRoot === true],
  ["spec.securityContext.seccompProfile", ({ spec }) => spec?.securityContext?.seccompProfile?.type === "Localhost"],
  ["spec.securityContext.appArmorProfile", ({ spec }) => spec?.securityContext?.appArmorProfile !== undefined],
];

const ofContainer: readonly ContainerCheck[] = [
  ["env.valueFrom.fileKeyRef", ({ env }) => (env ?? []).some(({ valueFrom }) => valueFrom?.fileKeyRef !== undefined)],
  ["volumeDevices", ({ volumeDevices }) => some(volumeDevices)],
  ["livenessProbe", ({ livenessProbe }) => livenessProbe !== undefined],
  ["readinessProbe", ({ readinessProbe }) => readinessProbe !== undefined],
  ["startupProbe", ({ startupProbe }) => startupProbe !== undefined],
  ["lifecycle", ({ lifecycle }) => lifecycle !== undefined],
  ["restartPolicy", ({ restartPolicy }) => restartPolicy !== undefined],
  ["restartPolicyRules", ({ restartPolicyRules }) => some(restartPolicyRules)],
  ["resources.claims", ({ resources }) => some(resources?.claims)],
  ["securityContext.runAsNonRoot", ({ securityContext }) => securityContext?.runAsNonRoot === true],
  ["securityContext.procMount", ({ securityContext }) => (securityContext?.procMount ?? "Default") !== "Default"],
  ["securityContext.seccompProfile", ({ securityContext }) => securityContext?.seccompProfile?.type === "Localhost"],
  ["securityContext.appArmorProfile", ({ securityContext }) => securityContext?.appArmorProfile !== undefined],
];

const VOLUMES: ReadonlySet<string> = new Set<keyof Volume>([
  "name",
  "emptyDir",
  "hostPath",
  "configMap",
  "secret",
  "downwardAPI",
  "projected",
  "persistentVolumeClaim",
  "ephemeral",
  "image",
]);
const SOURCES: ReadonlySet<string> = new Set<keyof VolumeProjection>([
  "configMap",
  "secret",
  "downwardAPI",
  "serviceAccountToken",
]);

/** What of a volume is of a kind that there is no code for, as a path below it. */
function strangeVolume(volume: Volume): string | undefined {
  const kind = Object.keys(volume).find((key) => !VOLUMES.has(key));
  if (kind !== undefined) return kind;
  for (const [index, source] of (volume.projected?.sources ?? []).entries()) {
    const strange = Object.keys(source).find((key) => !SOURCES.has(key));
    if (strange !== undefined) return `projected.sources[${index}].${strange}`;
  }
  return undefined;
}

/** The first thing it asks for that cannot be given. */
export function notBuilt(pod: Pod): Rejection | undefined {
  for (const [field, asks] of ofPod) if (asks(pod)) return rejection(field);
  for (const [index, volume] of (pod.spec?.volumes ?? []).entries()) {
    const field = strangeVolume(volume);
    if (field !== undefined) return rejection(`spec.volumes[${index}].${field}`);
  }
  for (const [index, container] of (pod.spec?.containers ?? []).entries()) {
    for (const [field, asks] of ofContainer)
      if (asks(container)) return rejection(`spec.containers[${index}].${field}`);
  }
  return undefined;
}

const rejection = (field: string): Rejection => ({
  reason: "NotSupported",
  message: `this node agent does not support ${field} yet`,
});

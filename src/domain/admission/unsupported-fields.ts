/**
 * Pod fields that are not implemented yet. A pod that sets one is rejected with the field's name and never runs without
 * it. The table shrinks with each step of the project.
 */
import type { Container, Pod, Volume, VolumeProjection } from "../../api/gen/core-v1.ts";
import type { Rejection } from "./verdict.ts";

type PodCheck = readonly [field: string, isSet: (pod: Pod) => boolean];
type ContainerCheck = readonly [field: string, isSet: (container: Container) => boolean];

const some = (list: readonly unknown[] | undefined) => list !== undefined && list.length > 0;

const ofPod: readonly PodCheck[] = [["spec.resourceClaims", ({ spec }) => some(spec?.resourceClaims)]];

const ofContainer: readonly ContainerCheck[] = [
  ["volumeDevices", ({ volumeDevices }) => some(volumeDevices)],
  ["resources.claims", ({ resources }) => some(resources?.claims)],
];

const SOURCES: ReadonlySet<string> = new Set<keyof VolumeProjection>([
  "configMap",
  "secret",
  "downwardAPI",
  "serviceAccountToken",
]);

/** Returns the first field of a volume that no code supports, as a path below the volume. */
function unsupportedVolumeField(volume: Volume, volumeSources: ReadonlySet<string>): string | undefined {
  const kind = Object.keys(volume).find((key) => key !== "name" && !volumeSources.has(key));
  if (kind !== undefined) return kind;
  for (const [index, source] of (volume.projected?.sources ?? []).entries()) {
    const unsupported = Object.keys(source).find((key) => !SOURCES.has(key));
    if (unsupported !== undefined) return `projected.sources[${index}].${unsupported}`;
  }
  return undefined;
}

/** Rejects the pod for its first unsupported field. */
export function unsupportedFields(pod: Pod, volumeSources: ReadonlySet<string>): Rejection | undefined {
  const [field] = listUnsupportedFields(pod, volumeSources);
  return field === undefined ? undefined : rejection(field);
}

/** Yields every unsupported field of the pod. `volumeSources`: the kinds of volumes that the node's plugins support. */
export function* listUnsupportedFields(
  pod: Pod,
  volumeSources: ReadonlySet<string>,
): Generator<string, void, undefined> {
  for (const [field, isSet] of ofPod) if (isSet(pod)) yield field;
  for (const [index, volume] of (pod.spec?.volumes ?? []).entries()) {
    const field = unsupportedVolumeField(volume, volumeSources);
    if (field !== undefined) yield `spec.volumes[${index}].${field}`;
  }
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    for (const [index, container] of (pod.spec?.[list] ?? []).entries()) {
      for (const [field, isSet] of ofContainer) if (isSet(container)) yield `spec.${list}[${index}].${field}`;
    }
  }
}

const rejection = (field: string): Rejection => ({
  reason: "NotSupported",
  message: `this node agent does not support ${field} yet`,
});

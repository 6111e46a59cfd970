/** The text of one file in a downwardAPI volume. */
import type { DownwardAPIVolumeFile, Pod } from "../../api/gen/core-v1.ts";
import { podField, type ReferredText } from "../container-config/environment/field-reference.ts";
import { volumeResource } from "../container-config/environment/resource-reference.ts";

export function volumeField(
  pod: Pod,
  { fieldRef, resourceFieldRef }: DownwardAPIVolumeFile,
  allocatable: Readonly<Record<string, string>>,
): ReferredText {
  if (fieldRef !== undefined) return podField(fieldRef.fieldPath, pod);
  return resourceFieldRef === undefined
    ? { kind: "text", text: "" }
    : volumeResource(resourceFieldRef, pod, allocatable);
}

/** Validates the volumes of a pod, and how its containers use them. */
import type { Container, HostPathVolumeSource, Volume, VolumeMount } from "../../api/gen/core-v1.ts";
import { dnsLabelTroubles } from "../../base/names.ts";
import { quantityOf } from "../../base/quantity-text.ts";
import type { FieldErrors } from "./field-errors.ts";

/** The valid volumes, by name. */
export type KnownVolumes = ReadonlyMap<string, Volume>;

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];
const MODE_RULE = "must be a number between 0 and 0777 (octal), both inclusive";

export function validateVolumes(errors: FieldErrors, path: string, volumes: readonly Volume[]): KnownVolumes {
  const known = new Map<string, Volume>();
  for (const [index, volume] of volumes.entries()) {
    const own = `${path}[${index}]`;
    const before = errors.all.length;
    validateVolume(errors, own, volume);
    if (!volume.name) errors.required(`${own}.name`);
    else errors.invalid(`${own}.name`, volume.name, ...dnsLabelTroubles(volume.name));
    if (known.has(volume.name)) errors.duplicate(`${own}.name`, volume.name);
    if (errors.all.length === before) known.set(volume.name, volume);
  }
  return known;
}

function validateVolume(errors: FieldErrors, path: string, volume: Volume): void {
  const kinds = Object.keys(volume).filter((key) => key !== "name");
  for (const extra of kinds.filter((kind) => kind !== sourceOrder(kinds))) {
    errors.forbidden(`${path}.${extra}`, "may not specify more than 1 volume type");
  }
  const { emptyDir, hostPath, nfs, downwardAPI, projected } = volume;
  const size = emptyDir?.sizeLimit === undefined ? undefined : quantityOf(emptyDir.sizeLimit);
  if (size !== undefined && size.nanos < 0n) {
    errors.forbidden(`${path}.emptyDir.sizeLimit`, "SizeLimit field must be a valid resource quantity");
  }
  if (hostPath !== undefined) validateHostPath(errors, `${path}.hostPath`, hostPath);
  if (nfs !== undefined) {
    if (!nfs.server) errors.required(`${path}.nfs.server`);
    if (!nfs.path) errors.required(`${path}.nfs.path`);
    if (!nfs.path.startsWith("/")) errors.invalid(`${path}.nfs.path`, nfs.path, "must be an absolute path");
  }
  for (const [kind, mode] of [
    ["downwardAPI", downwardAPI?.defaultMode],
    ["projected", projected?.defaultMode],
  ] as const) {
    if (mode !== undefined && (mode < 0 || mode > 0o777))
      errors.invalid(`${path}.${kind}.defaultMode`, mode, MODE_RULE);
  }
}

/** If a volume has several types, the one that is checked first counts and the others are errors. */
function sourceOrder(kinds: readonly string[]): string | undefined {
  return ["emptyDir", "hostPath", "gitRepo", "nfs"].find((kind) => kinds.includes(kind)) ?? kinds[0];
}

function validateHostPath(errors: FieldErrors, path: string, source: HostPathVolumeSource): void {
  if (!source.path) {
    errors.required(`${path}.path`);
    return;
  }
  noBacksteps(errors, `${path}.path`, source.path);
  const type = source.type ?? "";
  if (!hostPathTypes.includes(type)) errors.unsupported(`${path}.type`, type, hostPathTypes);
}

function noBacksteps(errors: FieldErrors, path: string, target: string): void {
  if (target.split("/").includes("..")) errors.invalid(path, target, "must not contain '..'");
}

function descending(errors: FieldErrors, path: string, target: string): void {
  if (target.startsWith("/")) errors.invalid(path, target, "must be a relative path");
  noBacksteps(errors, path, target);
}

export function validateVolumeMounts(
  errors: FieldErrors,
  path: string,
  container: Container,
  volumes: KnownVolumes,
): void {
  const paths = new Set<string>();
  const devices = container.volumeDevices ?? [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const own = `${path}[${index}]`;
    const { name, mountPath, subPath = "", subPathExpr = "" } = mount;
    if (name === "") errors.required(`${own}.name`);
    if (!volumes.has(name)) errors.notFound(`${own}.name`, name);
    if (mountPath === "") errors.required(`${own}.mountPath`);
    if (paths.has(mountPath)) errors.invalid(`${own}.mountPath`, mountPath, "must be unique");
    paths.add(mountPath);
    if (devices.some((device) => device.name === name)) {
      errors.invalid(`${own}.name`, name, "must not already exist in volumeDevices");
    }
    if (devices.some((device) => device.devicePath === mountPath)) {
      errors.invalid(`${own}.mountPath`, mountPath, "must not already exist as a path in volumeDevices");
    }
    // Upstream names the list here, not the mount.
    if (subPath !== "") descending(errors, `${path}.subPath`, subPath);
    if (subPathExpr !== "") {
      if (subPath !== "") {
        errors.invalid(`${own}.subPathExpr`, subPathExpr, "subPathExpr and subPath are mutually exclusive");
      }
      descending(errors, `${path}.subPathExpr`, subPathExpr);
    }
    validatePropagation(errors, path, mount, container.securityContext?.privileged === true);
  }
}

function validatePropagation(errors: FieldErrors, path: string, mount: VolumeMount, privileged: boolean): void {
  const { mountPropagation: propagation, recursiveReadOnly } = mount;
  const kinds = ["Bidirectional", "HostToContainer", "None"];
  if (propagation !== undefined && !kinds.includes(propagation)) {
    errors.unsupported(`${path}.mountPropagation`, propagation, kinds);
  }
  if (propagation === "Bidirectional" && !privileged) {
    const rule = "Bidirectional mount propagation is available only to privileged containers";
    errors.forbidden(`${path}.mountPropagation`, rule);
  }
  if (recursiveReadOnly === undefined || recursiveReadOnly === "Disabled") return;
  const own = `${path}.recursiveReadOnly`;
  if (recursiveReadOnly !== "Enabled" && recursiveReadOnly !== "IfPossible") {
    errors.unsupported(own, recursiveReadOnly, ["Disabled", "Enabled", "IfPossible"]);
    return;
  }
  if (!mount.readOnly) errors.forbidden(own, "may only be specified when readOnly is true");
  if (propagation !== undefined && propagation !== "None") {
    errors.forbidden(own, "may only be specified when mountPropagation is None or not specified");
  }
}

export function validateVolumeDevices(
  errors: FieldErrors,
  path: string,
  container: Container,
  volumes: KnownVolumes,
): void {
  for (const [index, { name, devicePath }] of (container.volumeDevices ?? []).entries()) {
    const own = `${path}[${index}]`;
    const volume = volumes.get(name);
    if (name === "") errors.required(`${own}.name`);
    if (volume === undefined) errors.notFound(`${own}.name`, name);
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
      const rule = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
      errors.invalid(`${own}.name`, name, rule);
    }
    if (devicePath === "") errors.required(`${own}.devicePath`);
    else noBacksteps(errors, `${own}.devicePath`, devicePath);
  }
}

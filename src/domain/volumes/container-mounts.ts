/**
 * A container's volume mounts in the runtime's form, and the subPaths that must be prepared first: each gets a separate
 * bind mount.
 */
import type { Container, VolumeMount } from "../../api/gen/core-v1.ts";
import type { ContainerMount, MountPropagation } from "../runtime/container.ts";
import type { ImageSpec } from "../runtime/image.ts";
import { subPathTarget } from "./layout.ts";
import type { MountedVolume, PodVolumes } from "./volume-state.ts";

/** Bind-mounted before the container is created; the container mounts `target`. */
export interface SubPath {
  readonly volume: string;
  readonly volumePath: string;
  readonly subPath: string;
  readonly target: string;
}

export type MountPlan =
  | { readonly kind: "mounts"; readonly mounts: readonly ContainerMount[]; readonly subPaths: readonly SubPath[] }
  | { readonly kind: "refused"; readonly message: string };

export interface MountContext {
  readonly podDirectory: string;
  readonly volumes: PodVolumes;
  /** The images of image volumes, by volume name. */
  readonly volumeImages: ReadonlyMap<string, ImageSpec>;
  /** Whether the runtime supports recursive read-only mounts. */
  readonly recursiveReadOnly: boolean;
  /** The text with the container's environment variables expanded, or the names of variables without a value. */
  readonly expand: (text: string) => { readonly text: string; readonly missing: readonly string[] };
}

class Refusal extends Error {}

export function containerMounts(container: Container, context: MountContext): MountPlan {
  const mounts: ContainerMount[] = [];
  const subPaths: SubPath[] = [];
  try {
    for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
      const volume = mountedOf(mount, container, context);
      const subPath = subPathOf(mount, context);
      const image = context.volumeImages.get(mount.name);
      if (image !== undefined) {
        mounts.push({ ...shape(mount, volume, context), hostPath: "", image, imageSubPath: subPath });
        continue;
      }
      const target = subPathTarget(context.podDirectory, volume.name, container.name, index);
      const hostPath = subPath === "" ? volume.path : target;
      mounts.push({ ...shape(mount, volume, context), hostPath });
      if (subPath === "") continue;
      subPaths.push({ volume: mount.name, volumePath: volume.path, subPath, target });
    }
  } catch (error) {
    if (error instanceof Refusal) return { kind: "refused", message: error.message };
    throw error;
  }
  return { kind: "mounts", mounts, subPaths };
}

function mountedOf(mount: VolumeMount, container: Container, { volumes }: MountContext): MountedVolume {
  const state = volumes.get(mount.name);
  if (state?.kind === "mounted") return state.volume;
  throw new Refusal(`cannot find volume "${mount.name}" to mount into container "${container.name}"`);
}

function subPathOf({ subPath = "", subPathExpr = "" }: VolumeMount, { expand }: MountContext): string {
  const { text, missing } = subPathExpr === "" ? { text: subPath, missing: [] } : expand(subPathExpr);
  if (missing.length > 0) throw new Refusal(`missing value for ${missing.toSorted().join(", ")}`);
  if (text.startsWith("/")) throw new Refusal(`error SubPath \`${text}\` must not be an absolute path`);
  if (text.split("/").includes(".."))
    throw new Refusal(`unable to provision SubPath \`${text}\`: must not contain '..'`);
  return text;
}

function shape(mount: VolumeMount, volume: MountedVolume, context: MountContext): Omit<ContainerMount, "hostPath"> {
  return {
    containerPath: mount.mountPath.startsWith("/") ? mount.mountPath : `/${mount.mountPath}`,
    readonly: mount.readOnly === true || volume.readOnly,
    recursiveReadonly: recursive(mount, context),
    selinuxRelabel: volume.selinuxRelabel,
    propagation: propagation(mount),
  };
}

function propagation({ mountPropagation }: VolumeMount): MountPropagation {
  switch (mountPropagation ?? "None") {
    case "None":
      return "private";
    case "HostToContainer":
      return "hostToContainer";
    case "Bidirectional":
      return "bidirectional";
    default:
      throw new Refusal(`invalid MountPropagation mode: "${mountPropagation}"`);
  }
}

export type RecursiveReadOnly =
  | { readonly kind: "mode"; readonly recursive: boolean }
  | { readonly kind: "refused"; readonly message: string };

/** Whether mounts within the mount are read-only too. `isAble`: the runtime supports it. */
export function recursiveReadOnlyOf(mount: VolumeMount, isAble: boolean): RecursiveReadOnly {
  const mode = mount.recursiveReadOnly ?? "Disabled";
  if (mode === "Disabled") return { kind: "mode", recursive: false };
  const refuse = (what: string): RecursiveReadOnly => ({
    kind: "refused",
    message: `failed to resolve recursive read-only mode: ${what}`,
  });
  const wants = `volume "${mount.name}" requested recursive read-only mode, but it is not`;
  if (mount.readOnly !== true) return refuse(`${wants} read-only`);
  if ((mount.mountPropagation ?? "None") !== "None")
    return refuse(`${wants} compatible with propagation "${mount.mountPropagation}"`);
  if (mode === "IfPossible") return { kind: "mode", recursive: isAble };
  if (mode !== "Enabled") return refuse(`unknown recursive read-only mode "${mode}"`);
  return isAble ? { kind: "mode", recursive: true } : refuse(`${wants} supported by the runtime`);
}

function recursive(mount: VolumeMount, { recursiveReadOnly }: MountContext): boolean {
  const resolved = recursiveReadOnlyOf(mount, recursiveReadOnly);
  if (resolved.kind === "refused") throw new Refusal(resolved.message);
  return resolved.recursive;
}

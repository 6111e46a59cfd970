/** Names of cgroups, and the forms that the two cgroup drivers give them. */
import { assert } from "../../base/assert.ts";
import type { CgroupDriver } from "../runtime/runtime-info.ts";
import type { CgroupName } from "./cgroup-values.ts";
import type { QosClass } from "./qos-class.ts";

/** The cgroup that holds all pods. */
export const KUBEPODS: CgroupName = ["kubepods"];

export const BURSTABLE: CgroupName = [...KUBEPODS, "burstable"];
export const BEST_EFFORT: CgroupName = [...KUBEPODS, "besteffort"];

const TIERS: Readonly<Record<QosClass, CgroupName>> = {
  Guaranteed: KUBEPODS,
  Burstable: BURSTABLE,
  BestEffort: BEST_EFFORT,
};

const POD_PREFIX = "pod";

export function podCgroupName(qosClass: QosClass, uid: string): CgroupName {
  // A slice name with these characters could not be converted back.
  assert(!/[/_]/.test(uid), `a cgroup's name may hold neither / nor _: ${uid}`);
  return [...TIERS[qosClass], `${POD_PREFIX}${uid}`];
}

/** All cgroups that have pods directly below them. */
export const podParents: readonly CgroupName[] = [KUBEPODS, BURSTABLE, BEST_EFFORT];

/** The pod UID in the last part of a cgroup name; undefined if the cgroup is not a pod's. */
export function podUidOf(part: string): string | undefined {
  const uid = part.startsWith(POD_PREFIX) ? part.slice(POD_PREFIX.length) : "";
  return uid === "" || uid.includes(POD_PREFIX) ? undefined : uid;
}

/** Parses "/a/b", also written "a/b". The root cgroup is the empty name. */
export const parseCgroupPath = (path: string): CgroupName => path.split("/").filter((part) => part !== "");

/** The cgroup's path below the root of a hierarchy; a runtime gets it as a cgroup parent. */
export const cgroupPath = (name: CgroupName, driver: CgroupDriver): string =>
  driver === "systemd" ? `/${slices(name).join("/")}` : `/${name.join("/")}`;

/** The cgroup name of a path as operators write it for a driver. Of a path of slices, only the last slice counts. */
export function cgroupNameOf(path: string, driver: CgroupDriver): CgroupName {
  const parts = parseCgroupPath(path);
  if (driver === "cgroupfs") return parts;
  const slice = parts.at(-1)?.replace(SLICE_END, "") ?? "";
  return slice === "" || slice === "-" ? [] : slice.split("-").map((part) => part.replaceAll("_", "-"));
}

/**
 * The last part of the name of the cgroup with this directory, directly below `parent`. Undefined if the driver did not
 * create the directory.
 */
export function childName(parent: CgroupName, directory: string, driver: CgroupDriver): string | undefined {
  if (driver === "cgroupfs") return directory;
  const part = directory.slice(directory.lastIndexOf("-") + 1).replace(SLICE_END, "");
  return directory === slices([...parent, part]).at(-1) ? part.replaceAll("_", "-") : undefined;
}

/** The systemd unit of a cgroup. */
export const sliceOf = (name: CgroupName): string => slices(name).at(-1) ?? ROOT_SLICE;

const ROOT_SLICE = "-.slice";
const SLICE_END = /\.slice$/;

/** A slice name contains the names of its parents. A dash separates them, so inside a name it becomes an underscore. */
function slices(name: CgroupName): readonly string[] {
  const parts = name.map((part) => part.replaceAll("-", "_"));
  return parts.map((_, index) => `${parts.slice(0, index + 1).join("-")}.slice`);
}

/** Formatted as Go prints a list of strings. */
export const quotedName = (name: CgroupName): string => `[${name.map((part) => JSON.stringify(part)).join(" ")}]`;

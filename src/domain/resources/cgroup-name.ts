/** Names of control groups, and the forms the two drivers give them. */
import { assert } from "../../base/assert.ts";
import type { CgroupDriver } from "../runtime/runtime-info.ts";
import type { CgroupName } from "./cgroup-values.ts";
import type { QosClass } from "./qos-class.ts";

/** The group that holds all pods. */
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
  // A slice's name could not be read back.
  assert(!/[/_]/.test(uid), `a cgroup's name may hold neither / nor _: ${uid}`);
  return [...TIERS[qosClass], `${POD_PREFIX}${uid}`];
}

/** All groups that have pods directly below them. */
export const podParents: readonly CgroupName[] = [KUBEPODS, BURSTABLE, BEST_EFFORT];

/** The UID in the last part of a pod's name; undefined where it is no pod's. */
export function podUidOf(part: string): string | undefined {
  const uid = part.startsWith(POD_PREFIX) ? part.slice(POD_PREFIX.length) : "";
  return uid === "" || uid.includes(POD_PREFIX) ? undefined : uid;
}

/** "/a/b", also written "a/b", as a name; the root of all is the empty name. */
export const parseCgroupPath = (path: string): CgroupName => path.split("/").filter((part) => part !== "");

/** Where a group is below the root of a hierarchy, and what a runtime is given as a parent. */
export const cgroupPath = (name: CgroupName, driver: CgroupDriver): string =>
  driver === "systemd" ? `/${slices(name).join("/")}` : `/${name.join("/")}`;

/** The name of a group by its path, as operators write it for a driver: of slices only the last tells. */
export function cgroupNameOf(path: string, driver: CgroupDriver): CgroupName {
  const parts = parseCgroupPath(path);
  if (driver === "cgroupfs") return parts;
  const slice = parts.at(-1)?.replace(SLICE_END, "") ?? "";
  return slice === "" || slice === "-" ? [] : slice.split("-").map((part) => part.replaceAll("_", "-"));
}

/** The last part of the name of the group in `folder`, directly below `parent`; undefined where the driver made no such folder. */
export function childName(parent: CgroupName, folder: string, driver: CgroupDriver): string | undefined {
  if (driver === "cgroupfs") return folder;
  const part = folder.slice(folder.lastIndexOf("-") + 1).replace(SLICE_END, "");
  return folder === slices([...parent, part]).at(-1) ? part.replaceAll("_", "-") : undefined;
}

/** The unit that stands for a group. */
export const sliceOf = (name: CgroupName): string => slices(name).at(-1) ?? ROOT_SLICE;

const ROOT_SLICE = "-.slice";
const SLICE_END = /\.slice$/;

/** A slice carries the names of those above it. A dash separates them, so inside a name it becomes an underscore. */
function slices(name: CgroupName): readonly string[] {
  const parts = name.map((part) => part.replaceAll("-", "_"));
  return parts.map((_, index) => `${parts.slice(0, index + 1).join("-")}.slice`);
}

/** As Go prints a list of strings. */
export const quotedName = (name: CgroupName): string => `[${name.map((part) => JSON.stringify(part)).join(" ")}]`;

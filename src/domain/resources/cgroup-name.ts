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

export const podCgroupName = (qosClass: QosClass, uid: string): CgroupName => [
  ...TIERS[qosClass],
  `${POD_PREFIX}${uid}`,
];

/** All groups that have pods directly below them. */
export const podParents: readonly CgroupName[] = [KUBEPODS, BURSTABLE, BEST_EFFORT];

/** The UID in the last part of a pod's name; undefined where it is no pod's. */
export function podUidOf(part: string): string | undefined {
  const uid = part.startsWith(POD_PREFIX) ? part.slice(POD_PREFIX.length) : "";
  return uid === "" || uid.includes(POD_PREFIX) ? undefined : uid;
}

/** "/a/b", also written "a/b", as a name; the root of all is the empty name. */
export const parseCgroupPath = (path: string): CgroupName => path.split("/").filter((part) => part !== "");

/** Where a group is below the root of a hierarchy. */
export const cgroupPath = (name: CgroupName, driver: CgroupDriver): string =>
  driver === "systemd" ? `/${slices(name).join("/")}` : `/${name.join("/")}`;

/** What a runtime is given as a parent: a path, or the name of a slice. */
export const runtimeParent = (name: CgroupName, driver: CgroupDriver): string =>
  driver === "systemd" ? (slices(name).at(-1) ?? "-.slice") : cgroupPath(name, driver);

/** A slice carries the names of those above it. A dash separates them, so inside a name it becomes an underscore. */
function slices(name: CgroupName): readonly string[] {
  const parts = name.map((part) => {
    assert(!/[/_]/.test(part), `a cgroup's name may hold neither / nor _: ${part}`);
    return part.replaceAll("-", "_");
  });
  return parts.map((_, index) => `${parts.slice(0, index + 1).join("-")}.slice`);
}

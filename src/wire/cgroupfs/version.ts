/** In what the two versions of control groups differ. Paths start at the root of a hierarchy. */
import type { CgroupValues } from "../../domain/resources/cgroup-values.ts";
import type { Setting } from "./settings.ts";

export interface CgroupVersion {
  readonly version: 1 | 2;
  /** The mount points a group has a folder in. */
  readonly roots: readonly string[];
  settings(values: CgroupValues): readonly Setting[];
  /** What keeps the group from being there with every controller that limits pods, in the Go kubelet's words; `name` is how they call it. */
  flaw(path: string, name: string): Promise<string | undefined>;
  /** Makes the group with its parents. */
  make(path: string): Promise<void>;
  /** Where the files of a controller are; undefined on a machine without it. */
  folderOf(controller: string, path: string): Promise<string | undefined>;
}

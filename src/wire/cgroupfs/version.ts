/** What differs between the two cgroup versions. Paths are relative to the root of a hierarchy. */
import type { CgroupValues } from "../../domain/resources/cgroup-values.ts";
import type { Setting } from "./settings.ts";

export interface CgroupVersion {
  readonly version: 1 | 2;
  /** The mount points in which a cgroup has a directory. */
  readonly roots: readonly string[];
  settings(values: CgroupValues): readonly Setting[];
  /**
   * Why the cgroup does not exist with every controller that limits pods, in the Go kubelet's words; undefined if it
   * does. `name` is how that message calls the cgroup.
   */
  validationError(path: string, name: string): Promise<string | undefined>;
  /** Creates the cgroup and its parents. */
  make(path: string): Promise<void>;
  /** The directory with the controller's files; undefined if the machine lacks the controller. */
  directoryOf(controller: string, path: string): Promise<string | undefined>;
}

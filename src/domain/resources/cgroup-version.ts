/** Whether the kubelet may start with the control groups this machine has. */
export interface CgroupVersionSettings {
  readonly failCgroupV1: boolean;
  /** Undefined where it was not set: then each version has its own default. */
  readonly singleProcessOomKill: boolean | undefined;
}

/** Sentences that each keep it from starting; none when all is well. */
export function cgroupVersionErrors(version: 1 | 2, settings: CgroupVersionSettings): readonly string[] {
  if (version === 2) return [];
  const errors: string[] = [];
  if (settings.failCgroupV1) {
    errors.push(
      "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release",
    );
  }
  if (settings.singleProcessOomKill === false) {
    errors.push("invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1");
  }
  return errors;
}

/** v1 can only kill one process of a container that is out of memory; v2 kills them all unless told otherwise. */
export const singleProcessOomKillOn = (version: 1 | 2, setting: boolean | undefined): boolean =>
  setting ?? version === 1;

/** Every restart policy with every way for a container to terminate. */
import type { PodSpec } from "../../../src/api/gen/core-v1.ts";
import { isSelected } from "../../golden/selected-cases.ts";
import { BUSYBOX, sh } from "../../support/cluster-pods.ts";

const POLICIES = ["Always", "OnFailure", "Never"] as const;
type Policy = (typeof POLICIES)[number];

const ENDS = {
  exit0: { containers: [sh("exit 0")] },
  exit1: { containers: [sh("echo why >&2; exit 1")] },
  // The first process of its own PID namespace cannot be killed from within, hence hostPID. `$$` in a command becomes
  // `$`.
  signal: { hostPID: true, containers: [sh("kill -KILL $$$$")] },
  oom: {
    containers: [
      { name: "main", image: BUSYBOX, command: ["tail", "/dev/zero"], resources: { limits: { memory: "32Mi" } } },
    ],
  },
} as const satisfies Record<string, Partial<PodSpec>>;
type End = keyof typeof ENDS;

export interface RestartCase {
  readonly policy: Policy;
  readonly end: End;
  readonly spec: Partial<PodSpec>;
}

export const titleOf = ({ policy, end }: RestartCase): string => `${policy} ${end}`;

export const CASES: readonly RestartCase[] = POLICIES.flatMap((policy) =>
  (Object.keys(ENDS) as End[]).map((end) => ({ policy, end, spec: { restartPolicy: policy, ...ENDS[end] } })),
).filter((one) => isSelected(titleOf(one)));
export const isRestarted = ({ policy, end }: RestartCase) =>
  policy === "Always" || (policy === "OnFailure" && end !== "exit0");
export const RESTARTED = CASES.filter(isRestarted);
export const FINISHED = CASES.filter((one) => !isRestarted(one));

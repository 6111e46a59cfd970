/**
 * Setups of a shortage of process ids, hard and soft. The machine's processes count, those of other programs too: the
 * threshold is THRESHOLD_BELOW less than what is available without the pods, and each setup passes it by about 200.
 */
import { HIGH, LOW, NODE_CRITICAL, type PodPlan, running, type Setup } from "./plan.ts";

export const THRESHOLD_BELOW = 800;

const setup = (name: string, victims: readonly string[], pods: Readonly<Record<string, PodPlan>>): Setup => ({
  name: `pids-${name}`,
  victims,
  pods,
  burst: "burst",
});

export const HARD_PID_SETUPS: readonly Setup[] = [
  setup("most", ["a"], { a: running(450), b: running(120), burst: running(380) }),
  setup("low-priority", ["b"], { a: running(450, HIGH), b: running(330, LOW), burst: running(200, HIGH) }),
  setup("two-rounds", ["a", "b"], { a: running(150, LOW), b: running(480, HIGH), burst: running(370, HIGH) }),
  setup("static-pod", ["b"], { a: { ...running(430), isStatic: true }, b: running(350), burst: running(200) }),
  setup("critical", ["b"], { a: running(430, NODE_CRITICAL), b: running(350), burst: running(200) }),
];

const PATIENT = { terminationGracePeriodSeconds: 60 } as const;
export const SOFT_PID_SETUPS: readonly Setup[] = [
  setup("soft-most", ["a"], { a: running(450, PATIENT), b: running(120), burst: running(380) }),
  setup("soft-short-grace", ["b"], { a: running(450, HIGH), b: running(330), burst: running(200, HIGH) }),
];

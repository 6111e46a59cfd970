/**
 * The termination of a pod as an ordered list of steps. It tracks the current step, the number of attempts, the last
 * error and the time of the next attempt. The component that carries out a step reports it; the steps before a reported
 * step are done. A termination that takes longer than its pod's grace period names the step that blocks it.
 */
import { doublingMs } from "../../base/backoff.ts";

export const TERMINATION_STEPS = [
  "hooks",
  "containers",
  "sandbox",
  "volumes",
  "cgroup",
  "users",
  "status",
  "object",
] as const satisfies readonly string[];

export type TerminationStepName = (typeof TERMINATION_STEPS)[number];

/** The condition reason of each step, and its text for people. */
const WORDS: Readonly<Record<TerminationStepName, { readonly reason: string; readonly doing: string }>> = {
  hooks: { reason: "RunPreStopHooks", doing: "run preStop hooks" },
  containers: { reason: "StopContainers", doing: "stop containers" },
  sandbox: { reason: "StopSandbox", doing: "stop sandbox" },
  volumes: { reason: "UnmountVolumes", doing: "unmount" },
  cgroup: { reason: "RemoveCgroup", doing: "remove cgroup" },
  users: { reason: "ReleaseUsers", doing: "release range of users" },
  status: { reason: "PublishStatus", doing: "publish final status" },
  object: { reason: "DeleteObject", doing: "delete API object" },
};

/**
 * A report by the component that carries out the step. `error` is that of the last attempt, even while the next one
 * runs.
 */
export interface StepReport {
  readonly step: TerminationStepName;
  readonly attempts: number;
  readonly error: string | undefined;
  readonly nextTryMonotonicMs: number | undefined;
}

/** The pod worker's report. At step "status" the worker's own work is done. */
export interface TerminationReport extends StepReport {
  /** The pod's name as people know it. */
  readonly pod: string;
  /** When the pod's grace period ends. */
  readonly graceEndsMonotonicMs: number;
}

export type StepState =
  | { readonly kind: "begun"; readonly attempts: number; readonly sinceMonotonicMs: number }
  | {
      readonly kind: "failed";
      readonly attempts: number;
      readonly error: string;
      readonly nextTryMonotonicMs: number | undefined;
    }
  | { readonly kind: "done"; readonly attempts: number };

export interface Ending {
  readonly graceEndsMonotonicMs: number;
  readonly current: TerminationStepName;
  /** The steps reached so far. */
  readonly steps: ReadonlyMap<TerminationStepName, StepState>;
}

export function afterReport(before: Ending | undefined, report: TerminationReport, nowMonotonicMs: number): Ending {
  const { step, attempts, error, nextTryMonotonicMs, graceEndsMonotonicMs } = report;
  const steps = new Map(before?.steps);
  for (const [name, { attempts: tried }] of steps) {
    if (TERMINATION_STEPS.indexOf(name) < TERMINATION_STEPS.indexOf(step))
      steps.set(name, { kind: "done", attempts: tried });
  }
  const known = steps.get(step);
  if (error !== undefined) steps.set(step, { kind: "failed", attempts, error, nextTryMonotonicMs });
  else {
    const sinceMonotonicMs = known?.kind === "begun" ? known.sinceMonotonicMs : nowMonotonicMs;
    steps.set(step, { kind: "begun", attempts, sinceMonotonicMs });
  }
  return { graceEndsMonotonicMs, current: step, steps };
}

/** Whether the change between two states is worth recording: another attempt with the same outcome is not. */
export function isNews(before: Ending | undefined, after: Ending): boolean {
  if (before?.current !== after.current) return true;
  return errorOf(before) !== errorOf(after);
}

export const errorOf = ({ steps, current }: Ending): string | undefined => {
  const state = steps.get(current);
  return state?.kind === "failed" ? state.error : undefined;
};

/** A termination that exceeds its grace period by less than this is not blocked. */
const BLOCKED_AFTER_MS = 7_000;
/** A step that began less than this time ago is not blocked, however late it is. */
const STEP_PATIENCE_MS = 2_000;

export interface BlockingStep {
  readonly reason: string;
  readonly message: string;
}

/** Whether a termination is blocked, or no longer is. While nothing is known, the published condition stays. */
export type BlockedTermination = { readonly kind: "blocked"; readonly by: BlockingStep } | { readonly kind: "free" };

export type TerminationVerdict =
  | { readonly kind: "blocked"; readonly by: BlockingStep }
  /** The termination may still become blocked. `lookInMs` is undefined if the current step cannot block it. */
  | { readonly kind: "onItsWay"; readonly lookInMs: number | undefined };

export function judgeTermination(
  { graceEndsMonotonicMs, current, steps }: Ending,
  nowMonotonicMs: number,
): TerminationVerdict {
  const state = steps.get(current);
  if (state === undefined || state.kind === "done") return { kind: "onItsWay", lookInMs: undefined };
  // A running "status" or "object" step never counts as blocked: an unreachable API server causes an error instead.
  if (state.kind === "begun" && (current === "status" || current === "object")) {
    return { kind: "onItsWay", lookInMs: undefined };
  }
  const lateMs = graceEndsMonotonicMs + BLOCKED_AFTER_MS;
  const dueMs = state.kind === "begun" ? Math.max(lateMs, state.sinceMonotonicMs + STEP_PATIENCE_MS) : lateMs;
  if (nowMonotonicMs < dueMs) return { kind: "onItsWay", lookInMs: dueMs - nowMonotonicMs };
  const message = terminationStepText(current, state.kind === "failed" ? state.error : "not done yet");
  return { kind: "blocked", by: { reason: WORDS[current].reason, message } };
}

/** Whether a termination that was blocked with this reason has passed that step since. */
export const hasPassed = ({ current }: Ending, reason: string): boolean =>
  TERMINATION_STEPS.indexOf(current) > TERMINATION_STEPS.findIndex((step) => WORDS[step].reason === reason);

const RETRY = { firstMs: 500, maxMs: 2_500 };

/**
 * The delay before the next attempt, after this many failures of a step. It starts short because someone waits for the
 * termination. Its cap ensures that a step that works again is noticed soon.
 */
export const endRetryMs = (attempts: number): number => doublingMs(RETRY, Math.max(1, attempts));

/** For example `step 4/8 unmount: data: device busy`. */
export function terminationStepText(step: TerminationStepName, why: string): string {
  const place = `step ${TERMINATION_STEPS.indexOf(step) + 1}/${TERMINATION_STEPS.length}`;
  return `${place} ${WORDS[step].doing}: ${why.trim().replace(/\s*\n\s*/g, "; ")}`;
}

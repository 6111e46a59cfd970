/**
 * The end of a pod as a list of steps, in their order: which of them is under way, how often it was tried, why it failed last and when it is tried again. Whoever
 * carries a step out reports it; what came before the step that is reported is done. An end that takes longer than its pod was granted says on what it hangs.
 */
import { doublingMs } from "../../base/backoff.ts";

export const END_STEPS = [
  "hooks",
  "containers",
  "sandbox",
  "volumes",
  "cgroup",
  "users",
  "status",
  "object",
] as const satisfies readonly string[];

export type EndStepName = (typeof END_STEPS)[number];

/** As a condition names it, and as people read it. */
const WORDS: Readonly<Record<EndStepName, { readonly reason: string; readonly doing: string }>> = {
  hooks: { reason: "RunPreStopHooks", doing: "run preStop hooks" },
  containers: { reason: "StopContainers", doing: "stop containers" },
  sandbox: { reason: "StopSandbox", doing: "stop sandbox" },
  volumes: { reason: "UnmountVolumes", doing: "unmount" },
  cgroup: { reason: "RemoveCgroup", doing: "remove cgroup" },
  users: { reason: "ReleaseUsers", doing: "release range of users" },
  status: { reason: "PublishStatus", doing: "publish final status" },
  object: { reason: "DeleteObject", doing: "delete API object" },
};

/** What is said of a step by whoever carries it out. An error is that of the last try, also while the next one is under way. */
export interface StepReport {
  readonly step: EndStepName;
  readonly attempts: number;
  readonly error: string | undefined;
  readonly nextTryMonotonicMs: number | undefined;
}

/** The worker's report. At "status" its own work is done. */
export interface EndReport extends StepReport {
  /** As people know it. */
  readonly pod: string;
  /** When the pod's grace is over. */
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
  readonly current: EndStepName;
  /** Those that were met so far. */
  readonly steps: ReadonlyMap<EndStepName, StepState>;
}

export function afterReport(before: Ending | undefined, report: EndReport, nowMonotonicMs: number): Ending {
  const { step, attempts, error, nextTryMonotonicMs, graceEndsMonotonicMs } = report;
  const steps = new Map(before?.steps);
  for (const [name, { attempts: tried }] of steps) {
    if (END_STEPS.indexOf(name) < END_STEPS.indexOf(step)) steps.set(name, { kind: "done", attempts: tried });
  }
  const known = steps.get(step);
  if (error !== undefined) steps.set(step, { kind: "failed", attempts, error, nextTryMonotonicMs });
  else {
    const sinceMonotonicMs = known?.kind === "begun" ? known.sinceMonotonicMs : nowMonotonicMs;
    steps.set(step, { kind: "begun", attempts, sinceMonotonicMs });
  }
  return { graceEndsMonotonicMs, current: step, steps };
}

/** Whether there is news between two of them for someone who reads of it later: another try with the same outcome is none. */
export function isNews(before: Ending | undefined, after: Ending): boolean {
  if (before?.current !== after.current) return true;
  return errorOf(before) !== errorOf(after);
}

export const errorOf = ({ steps, current }: Ending): string | undefined => {
  const state = steps.get(current);
  return state?.kind === "failed" ? state.error : undefined;
};

/** What takes a little longer than its grace is not stuck. */
const BLOCKED_AFTER_MS = 7_000;
/** Nor is a step that has only just begun, however late. */
const STEP_PATIENCE_MS = 2_000;

export interface BlockedEnd {
  readonly reason: string;
  readonly message: string;
}

/** What is told of an end that hangs, or hung; of one of which nothing is known yet, what was published stays. */
export type EndNews = { readonly kind: "blocked"; readonly by: BlockedEnd } | { readonly kind: "free" };

export type EndVerdict =
  | { readonly kind: "blocked"; readonly by: BlockedEnd }
  /** It may be, later. Undefined: not by what is under way now. */
  | { readonly kind: "onItsWay"; readonly lookInMs: number | undefined };

export function judgeEnd({ graceEndsMonotonicMs, current, steps }: Ending, nowMonotonicMs: number): EndVerdict {
  const state = steps.get(current);
  if (state === undefined || state.kind === "done") return { kind: "onItsWay", lookInMs: undefined };
  // Told as soon as it can be, it is not waited for: an API server that cannot be reached says so by an error.
  if (state.kind === "begun" && (current === "status" || current === "object")) {
    return { kind: "onItsWay", lookInMs: undefined };
  }
  const lateMs = graceEndsMonotonicMs + BLOCKED_AFTER_MS;
  const dueMs = state.kind === "begun" ? Math.max(lateMs, state.sinceMonotonicMs + STEP_PATIENCE_MS) : lateMs;
  if (nowMonotonicMs < dueMs) return { kind: "onItsWay", lookInMs: dueMs - nowMonotonicMs };
  const message = endStepText(current, state.kind === "failed" ? state.error : "not done yet");
  return { kind: "blocked", by: { reason: WORDS[current].reason, message } };
}

/** Whether an end that was blocked with this reason has come further since. */
export const hasPassed = ({ current }: Ending, reason: string): boolean =>
  END_STEPS.indexOf(current) > END_STEPS.findIndex((step) => WORDS[step].reason === reason);

const RETRY = { firstMs: 500, maxMs: 2_500 };

/** After so many failures of a step: soon, because somebody waits for the end, and never so late that a step which has healed is not seen to have. */
export const endRetryMs = (attempts: number): number => doublingMs(RETRY, Math.max(1, attempts));

/** `step 4/8 unmount: data: device busy`. */
export function endStepText(step: EndStepName, why: string): string {
  const place = `step ${END_STEPS.indexOf(step) + 1}/${END_STEPS.length}`;
  return `${place} ${WORDS[step].doing}: ${why.trim().replace(/\s*\n\s*/g, "; ")}`;
}

/**
 * Where a UID is in its life on this node. It only moves forward:
 *
 *     running ─▶ terminating ─▶ terminated ─▶ finished
 *
 * Only the pod's worker moves it, and only this says whether containers may run. From the terminating mark on nothing starts.
 */
export type PodLifecycle =
  /** Containers may start. */
  | { readonly kind: "running" }
  /** Containers are being ended, within a grace that only shrinks. */
  | {
      readonly kind: "terminating";
      readonly graceSeconds: number;
      /** When the grace began to run. */
      readonly sinceMonotonicMs: number;
      readonly why: TerminationCause;
    }
  /** No container runs and the last word about them is known; what the pod had on the node is being removed. */
  | { readonly kind: "terminated"; readonly why: TerminationCause }
  /** Nothing is left. Only now may the API object go. */
  | { readonly kind: "finished"; readonly why: TerminationCause };

export type TerminationCause =
  /** Its deletion was asked for. */
  | { readonly kind: "deleted" }
  /** No source wants it any more. */
  | { readonly kind: "removed" }
  /** No source ever knew it, but the runtime does. */
  | { readonly kind: "orphaned" }
  /** It ran to its end. */
  | { readonly kind: "completed" }
  /** Somebody on the node ends it: the phase is Failed with these words. */
  | { readonly kind: "failed"; readonly reason: string; readonly message: string };

/** No container runs, and none will start. */
export const hasEnded = (
  lifecycle: PodLifecycle,
): lifecycle is Extract<PodLifecycle, { readonly kind: "terminated" | "finished" }> =>
  lifecycle.kind === "terminated" || lifecycle.kind === "finished";

/** What is left of the grace. */
export const graceLeftMs = (
  { graceSeconds, sinceMonotonicMs }: Extract<PodLifecycle, { kind: "terminating" }>,
  nowMonotonicMs: number,
): number => Math.max(0, sinceMonotonicMs + graceSeconds * 1000 - nowMonotonicMs);

export function describeCause(why: TerminationCause): string {
  switch (why.kind) {
    case "deleted":
      return "its deletion was asked for";
    case "removed":
      return "no source wants it any more";
    case "orphaned":
      return "no source knows it";
    case "completed":
      return "its containers have ended for good";
    case "failed":
      return `${why.reason}: ${why.message}`;
  }
}

/** As the journal keeps it. */
export const causeToText = (why: TerminationCause): string =>
  why.kind === "failed" ? `failed ${why.reason}: ${why.message}` : why.kind;

/** What cannot be read any more counts as asked for: the pod is ending either way. */
export function causeFromText(text: string): TerminationCause {
  const failed = /^failed (?<reason>[^:]*): (?<message>.*)$/s.exec(text)?.groups;
  if (failed !== undefined) return { kind: "failed", reason: failed["reason"] ?? "", message: failed["message"] ?? "" };
  return text === "removed" || text === "orphaned" || text === "completed" ? { kind: text } : { kind: "deleted" };
}

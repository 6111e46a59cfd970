/**
 * The lifecycle of a pod UID on this node. It only moves forward:
 *
 *     running ─▶ terminating ─▶ terminated ─▶ finished
 *
 * Only the pod's worker changes it, and only it decides whether containers may run. From "terminating" on, no container
 * starts.
 */
export type PodLifecycle =
  /** Containers may start. */
  | { readonly kind: "running" }
  /** Containers are being stopped, within a grace period that can only shrink. */
  | {
      readonly kind: "terminating";
      readonly graceSeconds: number;
      /** When the grace period began. */
      readonly sinceMonotonicMs: number;
      readonly why: TerminationCause;
    }
  /** No container runs and their final states are known; the pod's resources on the node are being removed. */
  | { readonly kind: "terminated"; readonly why: TerminationCause }
  /** Nothing is left on the node. Only now may the API object be deleted. */
  | { readonly kind: "finished"; readonly why: TerminationCause };

export type TerminationCause =
  /** Its deletion was requested. */
  | { readonly kind: "deleted" }
  /** No source has the pod any longer. */
  | { readonly kind: "removed" }
  /** No source ever had the pod, but the runtime does. */
  | { readonly kind: "orphaned" }
  /** Its containers have terminated for good. */
  | { readonly kind: "completed" }
  /** A component of the node terminates the pod: the phase is Failed with this reason and message. */
  | { readonly kind: "failed"; readonly reason: string; readonly message: string };

/** No container runs, and none will start. */
export const hasEnded = (
  lifecycle: PodLifecycle,
): lifecycle is Extract<PodLifecycle, { readonly kind: "terminated" | "finished" }> =>
  lifecycle.kind === "terminated" || lifecycle.kind === "finished";

/** The remaining grace period. */
export const graceLeftMs = (
  { graceSeconds, sinceMonotonicMs }: Extract<PodLifecycle, { kind: "terminating" }>,
  nowMonotonicMs: number,
): number => Math.max(0, sinceMonotonicMs + graceSeconds * 1000 - nowMonotonicMs);

export function describeCause(why: TerminationCause): string {
  switch (why.kind) {
    case "deleted":
      return "its deletion was requested";
    case "removed":
      return "it was removed from its source";
    case "orphaned":
      return "no source knows it";
    case "completed":
      return "its containers have terminated";
    case "failed":
      return `${why.reason}: ${why.message}`;
  }
}

/** The cause as the journal stores it. */
export const causeToText = (why: TerminationCause): string =>
  why.kind === "failed" ? `failed ${why.reason}: ${why.message}` : why.kind;

/** Unreadable text counts as a deletion: the pod is terminating either way. */
export function causeFromText(text: string): TerminationCause {
  const failed = /^failed (?<reason>[^:]*): (?<message>.*)$/s.exec(text)?.groups;
  if (failed !== undefined) return { kind: "failed", reason: failed["reason"] ?? "", message: failed["message"] ?? "" };
  return text === "removed" || text === "orphaned" || text === "completed" ? { kind: text } : { kind: "deleted" };
}

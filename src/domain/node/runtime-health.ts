/** How the container runtime is, as the loop that watches it last saw, and what of that keeps a node from being ready. */
import type { RuntimeCondition, RuntimeStatus, RuntimeVersion } from "../runtime/runtime-info.ts";

export type RuntimeHealth =
  /** It has not answered yet. */
  | { readonly kind: "unknown"; readonly troubles: readonly string[] }
  | {
      readonly kind: "answered";
      /** Of the newest answer. */
      readonly status: RuntimeStatus;
      readonly version: RuntimeVersion;
      /** What its answers so far come to: it has never said it was ready, it did lately, or not for too long. */
      readonly readiness: "unseen" | "ready" | "down";
      /** What else is wrong, in whole sentences: `PLEG is not healthy: ...`. */
      readonly troubles: readonly string[];
    };

/** Before anything is known. */
export const RUNTIME_UNKNOWN: RuntimeHealth = { kind: "unknown", troubles: [] };

/** So long without a good answer, and the runtime counts as down. */
export const RUNTIME_DOWN_AFTER_MS = 30_000;

export function runtimeTroubles(health: RuntimeHealth): readonly string[] {
  const troubles: string[] = [];
  const readiness = health.kind === "answered" ? health.readiness : "unseen";
  if (readiness === "unseen") troubles.push("container runtime status check may not have completed yet");
  if (readiness === "down") troubles.push("container runtime is down");
  troubles.push(...health.troubles);
  if (health.kind === "answered")
    troubles.push(...conditionTrouble(health.status, "RuntimeReady", "container runtime"));
  return troubles;
}

export function networkTroubles(health: RuntimeHealth): readonly string[] {
  if (health.kind === "unknown") return ["network state unknown"];
  return conditionTrouble(health.status, "NetworkReady", "container runtime network");
}

export const runtimeName = (health: RuntimeHealth): string => (health.kind === "answered" ? health.version.name : "");

/** Of the handler that a pod has; "" is the one that pods get unless they ask for another. */
export const mountsRecursivelyReadOnly = (health: RuntimeHealth, handler: string): boolean =>
  health.kind === "answered" &&
  health.status.handlers.some(({ name, recursiveReadonlyMounts }) => name === handler && recursiveReadonlyMounts);

function conditionTrouble({ conditions }: RuntimeStatus, type: string, what: string): readonly string[] {
  const condition = conditions.find((candidate) => candidate.type === type);
  return condition?.status === true ? [] : [`${what} not ready: ${conditionText(condition)}`];
}

const conditionText = (condition: RuntimeCondition | undefined) =>
  condition === undefined
    ? "<nil>"
    : `${condition.type}=${condition.status} reason:${condition.reason} message:${condition.message}`;

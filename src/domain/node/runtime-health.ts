/**
 * The health of the container runtime, as the loop that watches it last observed it, and how it keeps a node from being
 * ready.
 */
import type { RuntimeCondition, RuntimeStatus, RuntimeVersion } from "../runtime/runtime-info.ts";

export type RuntimeHealth =
  /** The runtime has not answered yet. */
  | { readonly kind: "unknown"; readonly troubles: readonly string[] }
  | {
      readonly kind: "answered";
      /** From the newest answer. */
      readonly status: RuntimeStatus;
      readonly version: RuntimeVersion;
      /** The result of all answers so far: never ready, ready recently, or not ready for too long. */
      readonly readiness: "unseen" | "ready" | "down";
      /** Other problems, in whole sentences: `PLEG is not healthy: ...`. */
      readonly troubles: readonly string[];
    };

/** The state before the first answer. */
export const RUNTIME_UNKNOWN: RuntimeHealth = { kind: "unknown", troubles: [] };

/** The runtime counts as down after this time without a good answer. */
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

/** For the handler of a pod; "" is the default handler. */
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

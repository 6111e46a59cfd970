/**
 * The journal's records about the state of the node: one for each change of a condition, and of something that the
 * agent waits for. Numbers in a message may change without a record, and a message that changes while the state stays
 * gets at most one record a minute. Other clients may add conditions: their number and lengths are limited.
 */
import type { NodeCondition } from "../../api/gen/core-v1.ts";
import { firstBytes } from "../../base/cut-text.ts";
import type { JournalRecord } from "../journal/records.ts";
import { EXPLANATION_BYTES_MAX, NODE_CONDITIONS_MAX, NODE_STATE_NAME_BYTES_MAX } from "../limits.ts";
import type { NodeWait } from "../node/node-waits.ts";

export type NodeStateRecord = Extract<JournalRecord, { kind: "nodeState" }>;

type Cause = Pick<NodeStateRecord, "state" | "reason" | "why">;

const MESSAGE_EVERY_MS = 60_000;

export const CONDITION = "condition/";
export const WAIT = "wait/";
/** The state of a condition that the Node no longer has. */
export const REMOVED = "removed";

export class NodeStates {
  readonly #last = new Map<string, Cause & { readonly sinceWallMs: number; readonly wallMs: number }>();

  /** Returns a record for each condition that changed. */
  conditions(conditions: readonly NodeCondition[], nowWallMs: number): readonly NodeStateRecord[] {
    const named = new Map(
      conditions
        .slice(0, NODE_CONDITIONS_MAX)
        .map((condition) => [`${CONDITION}${firstBytes(condition.type, NODE_STATE_NAME_BYTES_MAX)}`, condition]),
    );
    const changed = [...named].flatMap(([subject, { status, reason = "", message = "", lastTransitionTime }]) => {
      const transitionMs = Date.parse(lastTransitionTime ?? "");
      const sinceWallMs = Number.isNaN(transitionMs) ? nowWallMs : transitionMs;
      return this.#changed(subject, { state: status, reason, why: message }, sinceWallMs, nowWallMs);
    });
    // Before the first report there is no condition, and none was removed.
    if (conditions.length === 0) return changed;
    return [...changed, ...this.#gone(CONDITION, named, { state: REMOVED, reason: "", why: "" }, nowWallMs)];
  }

  /** Returns a record for each wait that began, has another cause, or ended. `sinceWallMs`: when new waits began. */
  waits(waits: readonly NodeWait[], nowWallMs: number, sinceWallMs = nowWallMs): readonly NodeStateRecord[] {
    const current = new Map(waits.map(({ what, why }) => [`${WAIT}${what}`, why]));
    return [
      ...[...current].flatMap(([subject, why]) => {
        const last = this.#last.get(subject);
        const since = last?.state === "waiting" ? last.sinceWallMs : sinceWallMs;
        return this.#changed(subject, { state: "waiting", reason: "", why }, since, nowWallMs);
      }),
      ...this.#gone(WAIT, current, { state: "ended", reason: "", why: "" }, nowWallMs),
    ];
  }

  /** Records the end of each subject that is no longer present, once. */
  #gone(
    prefix: string,
    present: ReadonlyMap<string, unknown>,
    cause: Cause,
    nowWallMs: number,
  ): readonly NodeStateRecord[] {
    const gone = [...this.#last.keys()].filter((subject) => subject.startsWith(prefix) && !present.has(subject));
    return gone.flatMap((subject) => {
      const records = this.#changed(subject, cause, nowWallMs, nowWallMs);
      this.#last.delete(subject);
      return records;
    });
  }

  #changed(subject: string, whole: Cause, sinceWallMs: number, wallMs: number): readonly NodeStateRecord[] {
    const cause = {
      state: whole.state,
      reason: firstBytes(whole.reason, NODE_STATE_NAME_BYTES_MAX),
      why: firstBytes(whole.why, EXPLANATION_BYTES_MAX),
    };
    const last = this.#last.get(subject);
    if (last !== undefined && last.state === cause.state && last.reason === cause.reason) {
      const isSame = withoutNumbers(last.why) === withoutNumbers(cause.why);
      if (isSame || Math.abs(wallMs - last.wallMs) < MESSAGE_EVERY_MS) return [];
    }
    this.#last.set(subject, { ...cause, sinceWallMs, wallMs });
    return [{ kind: "nodeState", uid: "", pod: "", wallMs, subject, sinceWallMs, ...cause }];
  }
}

/** Texts that differ only in numbers name the same cause. */
export const withoutNumbers = (text: string): string => text.replaceAll(/[\d.]+/g, "#");

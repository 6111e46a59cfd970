/**
 * The journal's records about the state of the node: one for each change of a condition, and of something that the
 * agent waits for. Numbers in a message may change without a new record.
 */
import type { NodeCondition } from "../../api/gen/core-v1.ts";
import { firstBytes } from "../../base/cut-text.ts";
import type { JournalRecord } from "../journal/records.ts";
import { EXPLANATION_BYTES_MAX } from "../limits.ts";
import type { NodeWait } from "../node/node-waits.ts";

export type NodeStateRecord = Extract<JournalRecord, { kind: "nodeState" }>;

type Cause = Pick<NodeStateRecord, "state" | "reason" | "why">;

export class NodeStates {
  readonly #last = new Map<string, Cause & { readonly sinceWallMs: number }>();

  /** Returns a record for each condition that changed. */
  conditions(conditions: readonly NodeCondition[], nowWallMs: number): readonly NodeStateRecord[] {
    return conditions.flatMap(({ type, status, reason = "", message = "", lastTransitionTime }) => {
      const transitionMs = Date.parse(lastTransitionTime ?? "");
      const sinceWallMs = Number.isNaN(transitionMs) ? nowWallMs : transitionMs;
      return this.#changed(`condition/${type}`, { state: status, reason, why: message }, sinceWallMs, nowWallMs);
    });
  }

  /** Returns a record for each wait that began, has another cause, or ended. */
  waits(waits: readonly NodeWait[], nowWallMs: number): readonly NodeStateRecord[] {
    const current = new Map(waits.map(({ what, why }) => [`wait/${what}`, why]));
    const ended = [...this.#last].filter(
      ([subject, { state }]) => state === "waiting" && subject.startsWith("wait/") && !current.has(subject),
    );
    return [
      ...[...current].flatMap(([subject, why]) => {
        const last = this.#last.get(subject);
        const sinceWallMs = last?.state === "waiting" ? last.sinceWallMs : nowWallMs;
        return this.#changed(subject, { state: "waiting", reason: "", why }, sinceWallMs, nowWallMs);
      }),
      ...ended.flatMap(([subject]) =>
        this.#changed(subject, { state: "ended", reason: "", why: "" }, nowWallMs, nowWallMs),
      ),
    ];
  }

  #changed(subject: string, whole: Cause, sinceWallMs: number, wallMs: number): readonly NodeStateRecord[] {
    const cause = { ...whole, why: firstBytes(whole.why, EXPLANATION_BYTES_MAX) };
    const last = this.#last.get(subject);
    if (last !== undefined && isSame(last, cause)) return [];
    this.#last.set(subject, { ...cause, sinceWallMs });
    return [{ kind: "nodeState", uid: "", pod: "", wallMs, subject, sinceWallMs, ...cause }];
  }
}

const withoutNumbers = (text: string): string => text.replaceAll(/[\d.]+/g, "#");

const isSame = (a: Cause, b: Cause): boolean =>
  a.state === b.state && a.reason === b.reason && withoutNumbers(a.why) === withoutNumbers(b.why);

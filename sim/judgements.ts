/**
 * Counts per rule how often the oracle judged and how often a fault excused the agent: an oracle that excuses
 * everything finds nothing.
 */

/** The rules for which the swarm reports the counts. */
export const COUNTED_RULES = ["back-off", "grace", "grace bound", "preStop once"] as const;

export type CountedRule = (typeof COUNTED_RULES)[number];

export interface JudgementCount {
  readonly judged: number;
  readonly excused: number;
}

const NONE: JudgementCount = { judged: 0, excused: 0 };

export class Judgements {
  readonly #counts = new Map<string, JudgementCount>();

  /** Counts one case of a rule, and returns whether the rule applies to it. */
  applies(rule: CountedRule, isExcused: boolean): boolean {
    const { judged, excused } = this.of(rule);
    this.#counts.set(rule, isExcused ? { judged, excused: excused + 1 } : { judged: judged + 1, excused });
    return !isExcused;
  }

  of(rule: CountedRule): JudgementCount {
    return this.#counts.get(rule) ?? NONE;
  }

  get counts(): ReadonlyMap<string, JudgementCount> {
    return this.#counts;
  }

  add(other: ReadonlyMap<string, JudgementCount>): void {
    for (const [rule, { judged, excused }] of other) {
      const own = this.#counts.get(rule) ?? NONE;
      this.#counts.set(rule, { judged: own.judged + judged, excused: own.excused + excused });
    }
  }

  /** The share of a rule's cases that was judged; 1 when there was no case. */
  shareJudged(rule: CountedRule): number {
    const { judged, excused } = this.of(rule);
    return judged + excused === 0 ? 1 : judged / (judged + excused);
  }
}

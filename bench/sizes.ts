/** The sizes of a run: SMALL shows that the benchmarks produce figures, WHOLE produces the figures that are quoted. */
export interface Size {
  readonly rounds: number;
  readonly idleRounds: number;
  /** How often a round on a loaded machine is repeated. */
  readonly repeatsMax: number;
  /** From an agent's start to the first measurement; `idleSettleMs`: from the last pod's start to the idle period. */
  readonly settleMs: number;
  readonly idleSettleMs: number;
  readonly sequentialPods: number;
  readonly bursts: readonly number[];
  readonly exits: number;
  readonly idlePods: readonly number[];
  readonly idleMs: number;
  /** The last part of an idle period, in which CPU is counted. */
  readonly idleCountedMs: number;
  /**
   * Interval of the queries to idle agents. They follow the period without queries; CPU is counted for as long again.
   */
  readonly scrapeEveryMs: number;
  readonly recoveryPods: number;
  readonly conditionChanges: number;
  readonly starts: number;
  readonly volumePods: number;
  readonly editedPods: number;
  readonly edits: number;
  readonly bigPullMs: number;
  readonly scrapedPods: number;
  readonly scrapes: number;
  readonly probedPods: number;
  /** For each kind of probe; `probesTogetherMs` is for all kinds at once. */
  readonly probesCountedMs: number;
  readonly probesTogetherMs: number;
  readonly execs: number;
  readonly execsAtOnce: number;
  readonly logBytes: number;
  readonly logReads: number;
}

export const SMALL: Size = {
  rounds: 1,
  idleRounds: 1,
  repeatsMax: 0,
  settleMs: 2_000,
  idleSettleMs: 2_000,
  sequentialPods: 3,
  bursts: [5],
  exits: 2,
  idlePods: [0, 3],
  idleMs: 8_000,
  idleCountedMs: 5_000,
  scrapeEveryMs: 2_500,
  recoveryPods: 4,
  conditionChanges: 1,
  starts: 2,
  volumePods: 2,
  editedPods: 4,
  edits: 1,
  bigPullMs: 10_000,
  scrapedPods: 4,
  scrapes: 2,
  probedPods: 4,
  probesCountedMs: 12_000,
  probesTogetherMs: 12_000,
  execs: 5,
  execsAtOnce: 4,
  logBytes: 10_000_000,
  logReads: 3,
};

/** 100 starts in total, so that their p99 is meaningful. */
export const WHOLE: Size = {
  rounds: 5,
  idleRounds: 3,
  repeatsMax: 2,
  settleMs: 30_000,
  idleSettleMs: 100_000,
  sequentialPods: 20,
  bursts: [30, 100],
  exits: 10,
  idlePods: [0, 50, 110],
  idleMs: 600_000,
  idleCountedMs: 300_000,
  scrapeEveryMs: 15_000,
  recoveryPods: 110,
  conditionChanges: 5,
  starts: 10,
  volumePods: 10,
  editedPods: 200,
  edits: 5,
  bigPullMs: 60_000,
  scrapedPods: 110,
  scrapes: 10,
  probedPods: 110,
  probesCountedMs: 60_000,
  probesTogetherMs: 600_000,
  execs: 100,
  execsAtOnce: 20,
  logBytes: 10_000_000,
  logReads: 20,
};

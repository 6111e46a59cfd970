/**
 * Recorded answers of the Go kubelet v1.36.4, one file per suite under `go-1.36.4/`.
 *
 * A suite asks each question of one side at a time and gets a neutral answer: JSON without ids, times, addresses and
 * names of its cluster, and without anything that depends on the machine's size. `check` stores the answer while
 * recording, and otherwise fails unless Deckhand's answer equals a recorded one. The Go kubelet may have up to three
 * answers to a question; `variations.ts` says why. A question without a recorded answer fails.
 *
 * The file holds answers as the Go kubelet gave them. A suite with intended differences names them in `rewrite`, which
 * is applied to each answer of the Go kubelet before it is compared; two answers that are equal after that count as
 * one.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { differingLeaves, leafCount, neutralJson } from "./answers.ts";
import { differingSequences, SEQUENCE } from "./sequence.ts";
import { comparisonMode, type Side } from "./sides.ts";

export const GOLDEN_DIRECTORY = join(import.meta.dirname, "go-1.36.4");
export const ANSWERS_MAX = 3;
/** Part of the message of every failed comparison; the proof `mutants` recognizes failed comparisons by it. */
export const DIFFERS_FROM_RECORDING = "the Go kubelet does not answer so";

export interface RecordedQuestion {
  readonly question: string;
  readonly answers: readonly unknown[];
}

/** Rewrites an answer of the Go kubelet for a comparison. */
export type Rewrite = (question: string, answer: unknown) => unknown;

interface RecordingOptions {
  readonly rewrite?: Rewrite;
}

export class Recording {
  readonly suite: string;
  readonly #recorded: ReadonlyMap<string, readonly unknown[]>;
  readonly #rewrite: Rewrite;
  readonly #added = new Map<string, unknown[]>();
  #compared = 0;

  private constructor(suite: string, recorded: ReadonlyMap<string, readonly unknown[]>, rewrite: Rewrite) {
    this.suite = suite;
    this.#recorded = recorded;
    this.#rewrite = rewrite;
  }

  /** Called once, at the top of a suite's file: while recording, the answers are written after its last test. */
  static open(suite: string, { rewrite = (_, answer) => answer }: RecordingOptions = {}): Recording {
    const recorded = new Map(readRecording(suite).map((one) => [one.question, one.answers]));
    const recording = new Recording(suite, recorded, rewrite);
    if (comparisonMode === "record") after(() => recording.#save());
    return recording;
  }

  /** How many single values of Deckhand's answers were compared. */
  get compared(): number {
    return this.#compared;
  }

  /** The Go kubelet's answers, rewritten for comparison. */
  answers(question: string): readonly unknown[] {
    const answers =
      this.#recorded.get(question) ?? assert.fail(`${this.suite}: no answer to "${question}" is recorded`);
    return answers.map((answer) => this.#rewrite(question, answer));
  }

  /** Whether the answer equals a recorded one; for callers that wait until an agent has settled. */
  matches(question: string, answer: unknown): boolean {
    const neutral = neutralJson(answer);
    return this.answers(question).some((one) => differing(question)(one, neutral).length === 0);
  }

  /**
   * Gets the answers of the sides that run. Only Deckhand's answer is compared; while recording, the Go kubelet's is
   * stored.
   */
  async check(question: string, answerOf: (side: Side) => unknown): Promise<void> {
    if (comparisonMode === "record") {
      this.#add(question, neutralJson(await answerOf("go")));
      return;
    }
    const answer = neutralJson(await answerOf("deckhand"));
    const live = comparisonMode === "live" ? [this.#rewrite(question, neutralJson(await answerOf("go")))] : [];
    const recorded = this.answers(question);
    for (const theirs of live) assertAmong(question, recorded, theirs, "this answer of the Go kubelet is not recorded");
    assertAmong(question, recorded, answer, DIFFERS_FROM_RECORDING);
    this.#compared += leafCount(answer);
  }

  #add(question: string, answer: unknown): void {
    const answers = this.#added.get(question) ?? [];
    this.#added.set(question, answers);
    answers.push(answer);
  }

  /** Adds new answers to those in the file, and drops questions that no test uses any more. */
  #save(): void {
    const lines = [...this.#added].map(([question, added]): RecordedQuestion => {
      const answers = [...(this.#recorded.get(question) ?? []), ...added];
      return {
        question,
        answers: distinctAnswers(answers, (answer) => this.#rewrite(question, answer), differing(question)),
      };
    });
    writeRecording(this.suite, lines);
    const many = lines.filter(({ answers }) => answers.length > ANSWERS_MAX).map(({ question }) => question);
    assert.deepEqual(many, [], `more than ${ANSWERS_MAX} answers: these questions need a more neutral answer`);
  }
}

/**
 * Keeps one of the answers that are equal after rewriting: one that the rewriting changes, if any, because it shows
 * that the rewriting is needed.
 */
export function distinctAnswers(
  answers: readonly unknown[],
  rewrite: (answer: unknown) => unknown,
  differences: Differences = differingLeaves,
): readonly unknown[] {
  const isSame = (a: unknown, b: unknown) => differences(a, b).length === 0;
  const distinct: unknown[] = [];
  for (const answer of answers) {
    const index = distinct.findIndex((known) => isSame(rewrite(known), rewrite(answer)));
    const known = distinct[index];
    if (index === -1) distinct.push(answer);
    else if (isSame(known, rewrite(known))) distinct[index] = answer;
  }
  return distinct;
}

type Differences = (theirs: unknown, ours: unknown) => readonly string[];

const differing = (question: string): Differences =>
  question.endsWith(` ${SEQUENCE}`) ? differingSequences : differingLeaves;

function assertAmong(question: string, recorded: readonly unknown[], answer: unknown, message: string): void {
  const found = recorded.map((one) => differing(question)(one, answer));
  const [nearest = []] = found.toSorted((a, b) => a.length - b.length);
  assert.equal(
    nearest.length,
    0,
    `${question}: ${message}: ${nearest.length} values differ\n${nearest.slice(0, 20).join("\n")}`,
  );
}

const fileOf = (suite: string): string => join(GOLDEN_DIRECTORY, `${suite}.jsonl`);

/** One question per line. */
export function readRecording(suite: string): readonly RecordedQuestion[] {
  if (!existsSync(fileOf(suite))) return [];
  const lines = readFileSync(fileOf(suite), "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as RecordedQuestion);
}

function writeRecording(suite: string, lines: readonly RecordedQuestion[]): void {
  mkdirSync(dirname(fileOf(suite)), { recursive: true });
  const sorted = lines.toSorted((a, b) => (a.question < b.question ? -1 : 1));
  writeFileSync(fileOf(suite), sorted.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/**
 * Recorded answers of the Go kubelet v1.36.4, one file per suite under `go-1.36.4/`.
 *
 * A suite asks each question of one side at a time and gets a neutral answer: JSON without ids, times, addresses and names of its
 * cluster, and without anything that depends on the machine's size. `check` stores the answer while recording, and otherwise fails
 * unless Deckhand's answer equals a recorded one. The Go kubelet may have up to three answers to a question;
 * `variations.ts` says why. A question without a recorded answer fails.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { differingLeaves, leafCount, neutralJson } from "./answers.ts";
import { comparisonMode, type Side } from "./sides.ts";

export const GOLDEN_DIRECTORY = join(import.meta.dirname, "go-1.36.4");
export const ANSWERS_MAX = 3;
/** In the message of every comparison that fails; the proof `mutants` knows it by that. */
export const DIFFERS_FROM_RECORDING = "the Go kubelet does not answer so";

export interface RecordedQuestion {
  readonly question: string;
  readonly answers: readonly unknown[];
}

export class Recording {
  readonly suite: string;
  readonly #recorded: ReadonlyMap<string, readonly unknown[]>;
  readonly #added = new Map<string, unknown[]>();
  #compared = 0;

  private constructor(suite: string, recorded: ReadonlyMap<string, readonly unknown[]>) {
    this.suite = suite;
    this.#recorded = recorded;
  }

  /** Called once, at the top of a suite's file: while recording, the answers are written after its last test. */
  static open(suite: string): Recording {
    const recording = new Recording(suite, new Map(readRecording(suite).map((one) => [one.question, one.answers])));
    if (comparisonMode === "record") after(() => recording.#save());
    return recording;
  }

  /** How many single values of Deckhand's answers were compared. */
  get compared(): number {
    return this.#compared;
  }

  /** The Go kubelet's answers. */
  answers(question: string): readonly unknown[] {
    return this.#recorded.get(question) ?? assert.fail(`${this.suite}: no answer to "${question}" is recorded`);
  }

  /** Whether the answer equals a recorded one; for whoever waits until an agent has come to rest. */
  matches(question: string, answer: unknown): boolean {
    const neutral = neutralJson(answer);
    return this.answers(question).some((one) => differingLeaves(one, neutral).length === 0);
  }

  /** Asks the sides that run. Only Deckhand's answer is compared; while recording, the Go kubelet's is stored. */
  async check(question: string, answerOf: (side: Side) => unknown): Promise<void> {
    if (comparisonMode === "record") {
      this.#add(question, neutralJson(await answerOf("go")));
      return;
    }
    const answer = neutralJson(await answerOf("deckhand"));
    const live = comparisonMode === "live" ? [neutralJson(await answerOf("go"))] : [];
    const recorded = this.answers(question);
    for (const theirs of live)
      assertAmong(recorded, theirs, `${question}: this answer of the Go kubelet is not recorded`);
    assertAmong(recorded, answer, `${question}: ${DIFFERS_FROM_RECORDING}`);
    this.#compared += leafCount(answer);
  }

  #add(question: string, answer: unknown): void {
    const answers = this.#added.get(question) ?? [];
    this.#added.set(question, answers);
    answers.push(answer);
  }

  /** Adds what is new to what the file holds, and drops questions that are no longer asked. */
  #save(): void {
    const lines = [...this.#added].map(([question, added]): RecordedQuestion => {
      const distinct: unknown[] = [...(this.#recorded.get(question) ?? [])];
      for (const answer of added) {
        if (distinct.every((known) => differingLeaves(known, answer).length > 0)) distinct.push(answer);
      }
      return { question, answers: distinct };
    });
    writeRecording(this.suite, lines);
    const many = lines.filter(({ answers }) => answers.length > ANSWERS_MAX).map(({ question }) => question);
    assert.deepEqual(many, [], `more than ${ANSWERS_MAX} answers: these questions need a more neutral answer`);
  }
}

function assertAmong(recorded: readonly unknown[], answer: unknown, message: string): void {
  const found = recorded.map((one) => differingLeaves(one, answer));
  const [nearest = []] = found.toSorted((a, b) => a.length - b.length);
  assert.equal(nearest.length, 0, `${message}: ${nearest.length} values differ\n${nearest.slice(0, 20).join("\n")}`);
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

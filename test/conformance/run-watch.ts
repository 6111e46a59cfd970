/**
 * Watches a run from outside: ginkgo's output, the tests' requests in the audit log, and the evidence of failing tests.
 */
import { join } from "node:path";
import type { Cluster } from "../cluster/cluster.ts";
import { pause } from "../cluster/wait.ts";
import { Audit } from "./audit.ts";
import { Evidence } from "./evidence.ts";
import { GrowingFile } from "./growing-file.ts";
import { type Ended, Progress } from "./progress.ts";
import { passed, type TestOutcome } from "./results.ts";

const LOOK_EVERY_MS = 1_000;

export interface ProgressOutput {
  readonly say: (line: string) => void;
  readonly sayProgress: (line: string) => void;
}

export class RunWatch {
  readonly #audit = new Audit();
  readonly #progress = new Progress();
  readonly #evidence: Evidence;
  readonly #auditLog: GrowingFile;
  readonly #output: ProgressOutput;
  readonly #over = new AbortController();
  readonly #turning: Promise<void>;
  #looking: Promise<void> = Promise.resolve();
  #taking: Promise<void> = Promise.resolve();

  constructor(cluster: Cluster, directory: string, output: ProgressOutput) {
    this.#output = output;
    this.#auditLog = new GrowingFile(cluster.api.auditLog);
    this.#evidence = new Evidence(cluster, this.#audit, join(directory, "failures"));
    this.#turning = this.#turn();
  }

  /** Reads a line that the ginkgo of this name has printed. */
  note(ginkgo: string, line: string): void {
    const ended = this.#progress.note(ginkgo, line);
    if (ended?.passed === false) this.#onFailed(ended);
  }

  /**
   * Adds the features that the test's pods requested. A failed test waits for those for which its pods were rejected.
   */
  traced(test: TestOutcome): TestOutcome {
    const trace = this.#audit.of(test.name);
    const [asks, waitsFor] = [[...(trace?.asks ?? [])].toSorted(), [...(trace?.waitsFor ?? [])].toSorted()];
    return {
      ...test,
      ...(asks.length === 0 ? {} : { asks }),
      ...(passed(test) || waitsFor.length === 0 ? {} : { waitsFor }),
    };
  }

  /**
   * Call this once all tests have ended: reads the rest of the audit log, and extracts the lines about failed tests
   * from the logs.
   */
  async finish(): Promise<void> {
    await this.#stop();
    await this.#taking;
    await this.#evidence.pickLogs();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
    await this.#auditLog.close();
  }

  #onFailed({ test }: Ended): void {
    this.#output.say(`FAILED ${test}`);
    // One after the other, because these requests must not disturb the tests that run.
    this.#taking = this.#taking
      .then(() => this.#look())
      .then(() => this.#evidence.take(test))
      .catch((error: unknown) => this.#output.say(`no evidence of ${test}: ${String(error)}`));
  }

  async #turn(): Promise<void> {
    while (!this.#over.signal.aborted) {
      await this.#look();
      this.#output.sayProgress(this.#progress.line(this.#audit.tests()));
      await pause(LOOK_EVERY_MS);
    }
    await this.#look();
  }

  #look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#auditLog.read((line) => this.#audit.note(line)));
    return this.#looking;
  }

  async #stop(): Promise<void> {
    this.#over.abort();
    await this.#turning;
  }
}

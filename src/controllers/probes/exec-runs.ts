/**
 * Commands of exec probes. A command costs the machine some 25 ms of CPU in the runtime and its helpers, whatever it does itself: so only so many run
 * at once on the whole node, and the same command that two probes of a container ask for at the same time runs once for both.
 *
 * The budget is four per CPU. Two would already keep the CPUs busy; the rest of them wait for a disk, a lock or the command itself. One that runs for
 * longer than a second no longer counts: it sleeps or waits, and must not keep others from their turn. The time in the queue is ours and
 * counts for nobody: the limit of a command begins when the runtime gets it.
 */
import { Turnstile } from "../../concurrency/turnstile.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ExecResult, Runtime } from "../../ports/runtime.ts";

export const EXECS_PER_CPU = 4;
const EXEC_PATIENCE_MS = 1_000;

export interface ExecRun {
  readonly id: string;
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
}

export interface ExecRunsOptions {
  readonly runtime: Pick<Runtime, "execSync">;
  readonly clock: Clock;
  /** Asked when the first command is to run. */
  readonly cpus: () => Promise<number>;
}

export class ExecRuns {
  readonly #options: ExecRunsOptions;
  readonly #underWay = new Map<string, Promise<ExecResult>>();
  #budget: Turnstile | undefined;

  constructor(options: ExecRunsOptions) {
    this.#options = options;
  }

  /** `life`: the container's, since others may wait for the same run. */
  run(asked: ExecRun, life: AbortSignal): Promise<ExecResult> {
    const key = JSON.stringify([asked.id, asked.timeoutSeconds, ...asked.command]);
    const known = this.#underWay.get(key);
    if (known !== undefined) return known;
    const run = this.#begin(asked, life).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, run);
    return run;
  }

  async #begin({ id, command, timeoutSeconds }: ExecRun, life: AbortSignal): Promise<ExecResult> {
    const { runtime, clock, cpus } = this.#options;
    const most = this.#budget === undefined ? EXECS_PER_CPU * (await cpus()) : 0;
    this.#budget ??= new Turnstile(clock, { most, patienceMs: EXEC_PATIENCE_MS });
    using pass = this.#budget.pass();
    await pass.enter(life);
    return await runtime.execSync(id, command, timeoutSeconds, life);
  }
}

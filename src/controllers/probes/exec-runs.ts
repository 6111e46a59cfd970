/**
 * Runs the commands of exec probes. Each command costs the machine some 25 ms of CPU in the runtime and its helpers,
 * whatever it does. Therefore the number of parallel commands on the node is limited. If two probes of a container need
 * the same command at the same time, it runs once for both.
 *
 * The limit is four per CPU. Two would already keep the CPUs busy; the others wait for a disk, a lock or the command
 * itself. A command that runs longer than a second no longer counts: it sleeps or waits and must not block others. Time
 * in the queue counts against no probe: the timeout of a command starts when the runtime receives it.
 */

import { Semaphore } from "../../concurrency/semaphore.ts";
import { SharedRuns } from "../../concurrency/shared-runs.ts";
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
  /** Called before the first command runs. */
  readonly cpus: () => Promise<number>;
}

export class ExecRuns {
  readonly #options: ExecRunsOptions;
  readonly #runs = new SharedRuns<string, ExecResult>();
  #budget: Semaphore | undefined;

  constructor(options: ExecRunsOptions) {
    this.#options = options;
  }

  /** `life` belongs to the container, because other probes may share the run. */
  run(asked: ExecRun, life: AbortSignal): Promise<ExecResult> {
    const key = JSON.stringify([asked.id, asked.timeoutSeconds, ...asked.command]);
    return this.#runs.join(key, () => this.#begin(asked, life));
  }

  async #begin({ id, command, timeoutSeconds }: ExecRun, life: AbortSignal): Promise<ExecResult> {
    const { runtime, clock, cpus } = this.#options;
    const max = this.#budget === undefined ? EXECS_PER_CPU * (await cpus()) : 0;
    this.#budget ??= new Semaphore(clock, { max, maxHoldMs: EXEC_PATIENCE_MS });
    using permit = this.#budget.permit();
    await permit.acquire(life);
    return await runtime.execSync(id, command, timeoutSeconds, life);
  }
}

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
import { SingleFlightGroup } from "../../concurrency/single-flight-group.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ExecResult, Runtime } from "../../ports/runtime.ts";

export const EXECS_PER_CPU = 4;
const EXEC_HOLD_MS_MAX = 1_000;

export interface ExecRequest {
  readonly id: string;
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
}

export interface ExecLimiterOptions {
  readonly runtime: Pick<Runtime, "execSync">;
  readonly clock: Clock;
  /** Called before the first command runs. */
  readonly cpus: () => Promise<number>;
}

export class ExecLimiter {
  readonly #options: ExecLimiterOptions;
  readonly #runs = new SingleFlightGroup<string, ExecResult>();
  #semaphore: Semaphore | undefined;

  constructor(options: ExecLimiterOptions) {
    this.#options = options;
  }

  /** `life` belongs to the container, because other probes may share the run. */
  run(request: ExecRequest, life: AbortSignal): Promise<ExecResult> {
    const key = JSON.stringify([request.id, request.timeoutSeconds, ...request.command]);
    return this.#runs.join(key, () => this.#begin(request, life));
  }

  async #begin({ id, command, timeoutSeconds }: ExecRequest, life: AbortSignal): Promise<ExecResult> {
    const { runtime, clock, cpus } = this.#options;
    const max = this.#semaphore === undefined ? EXECS_PER_CPU * (await cpus()) : 0;
    this.#semaphore ??= new Semaphore(clock, { max, maxHoldMs: EXEC_HOLD_MS_MAX });
    using permit = this.#semaphore.permit();
    await permit.acquire(life);
    return await runtime.execSync(id, command, timeoutSeconds, life);
  }
}

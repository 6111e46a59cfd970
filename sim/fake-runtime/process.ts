/** One process of the simulated node. It belongs to the machine, not to the runtime, and outlives a dead runtime. */
import type { Clock } from "../../src/ports/clock.ts";
import { type Behaviour, type Use, useAt } from "./behaviour.ts";

export interface ProcessEnd {
  readonly code: number;
  readonly oomKilled: boolean;
}

export interface ProcessOptions {
  readonly clock: Clock;
  readonly pid: number;
  readonly behaviour: Behaviour;
  readonly environment: ReadonlyMap<string, Uint8Array>;
  readonly memoryLimitBytes: () => bigint | undefined;
  readonly onOutput: (stream: "stdout" | "stderr", bytes: Uint8Array) => void;
  readonly onEnd: (end: ProcessEnd) => void;
}

const KILLED = 137;

export class Process {
  readonly pid: number;
  readonly startedMonotonicMs: number;
  readonly #options: ProcessOptions;
  readonly #timers = new Set<() => void>();
  #end: ProcessEnd | undefined;
  #endedMonotonicMs = 0;

  /** Starts the process; its actions follow the clock. */
  constructor(options: ProcessOptions) {
    const { behaviour, clock } = options;
    this.pid = options.pid;
    this.startedMonotonicMs = clock.monotonicMs();
    this.#options = options;
    this.#later(0, () => this.#write());
    if (behaviour.tickEveryMs !== undefined) this.#tick(behaviour.tickEveryMs);
    const { exit } = behaviour;
    const isWell = this.startedMonotonicMs >= (exit?.wellFromMs ?? Number.POSITIVE_INFINITY);
    if (exit !== undefined)
      this.#later(exit.afterMs, () => this.#finish({ code: isWell ? 0 : exit.code, oomKilled: false }));
    this.checkMemory();
  }

  get end(): ProcessEnd | undefined {
    return this.#end;
  }

  signal(name: string): void {
    const { behaviour } = this.#options;
    if (name === "SIGKILL") {
      if (behaviour.unkillable !== true) this.#later(0, () => this.#finish({ code: KILLED, oomKilled: false }));
      return;
    }
    const ending = behaviour.onSignal?.[name];
    if (ending !== undefined) this.#later(ending.afterMs, () => this.#finish({ code: ending.code, oomKilled: false }));
  }

  /** For the world: ends the process now, whatever its behavior. */
  exit(end: ProcessEnd): void {
    this.#finish(end);
  }

  /** OOM-kills the process if it uses more than its limit. Called at the start and when the limit changes. */
  checkMemory(): void {
    const limit = this.#options.memoryLimitBytes();
    const taken = this.#options.behaviour.memoryBytes ?? 0;
    if (limit !== undefined && limit > 0n && BigInt(taken) > limit)
      this.#later(1, () => this.#finish({ code: KILLED, oomKilled: true }));
  }

  get memoryBytes(): bigint {
    return BigInt(this.#options.behaviour.memoryBytes ?? 2 ** 20);
  }

  get use(): Use {
    return this.useAt(this.#options.clock.monotonicMs());
  }

  /** What the process used then. */
  useAt(monotonicMs: number): Use {
    const { behaviour } = this.#options;
    const hasEnded = this.#end !== undefined && monotonicMs >= this.#endedMonotonicMs;
    const use = useAt(behaviour, (hasEnded ? this.#endedMonotonicMs : monotonicMs) - this.startedMonotonicMs);
    return hasEnded ? { memoryBytes: 0, children: 0, layerBytes: use.layerBytes } : use;
  }

  /** What the process used after each change since then. */
  usesSince(monotonicMs: number): readonly Use[] {
    return (this.#options.behaviour.uses ?? [])
      .map(({ fromMs }) => this.startedMonotonicMs + fromMs)
      .filter((atMs) => atMs >= monotonicMs && atMs <= this.#options.clock.monotonicMs())
      .map((atMs) => this.useAt(atMs));
  }

  #write(): void {
    const { behaviour, environment, onOutput } = this.#options;
    const { stdout, stderr, printVariable } = behaviour;
    if (stdout !== undefined) onOutput("stdout", typeof stdout === "string" ? bytes(stdout) : new Uint8Array(stdout));
    if (printVariable !== undefined) onOutput("stdout", environment.get(printVariable) ?? new Uint8Array());
    if (stderr !== undefined) onOutput("stderr", bytes(stderr));
  }

  #tick(everyMs: number): void {
    this.#later(everyMs, () => {
      this.#options.onOutput("stdout", bytes("tick\n"));
      this.#tick(everyMs);
    });
  }

  #later(delayMs: number, act: () => void): void {
    if (this.#end !== undefined) return;
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      act();
    });
    this.#timers.add(cancel);
  }

  #finish(end: ProcessEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#endedMonotonicMs = this.#options.clock.monotonicMs();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#options.onEnd(end);
  }
}

const bytes = (text: string) => new TextEncoder().encode(text);

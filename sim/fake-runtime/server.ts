/**
 * The runtime as a separate process: it can die, hang and come back. Work in progress for its callers is lost with it.
 */
import { linkSignals, raceAbort } from "../../src/concurrency/abort.ts";
import { RuntimeError } from "../../src/ports/runtime-error.ts";
import type { NodeState } from "./node-state.ts";

interface Work {
  readonly operation: string;
  stop(error: unknown): void;
}

export class Server {
  readonly #state: NodeState;
  readonly #work = new Set<Work>();
  #resumed: (() => void)[] = [];
  #isPaused = false;

  constructor(state: NodeState) {
    this.#state = state;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Serves one call. `signal` aborts when the caller has left. */
  serve<T>(operation: string, signal: AbortSignal, run: (signal: AbortSignal) => T | Promise<T>): T | Promise<T> {
    if (this.#state.isDead) throw unavailable(operation);
    if (this.#isPaused) return this.#serveLater(operation, signal, run);
    return this.#begin(operation, signal, run);
  }

  /** Fails every call in progress and changes nothing else: containers are not the runtime's children. */
  kill(): void {
    this.#state.say("the runtime dies");
    this.#state.isDead = true;
    this.#state.deaths += 1;
    this.#isPaused = false;
    for (const work of this.#work) work.stop(unavailable(work.operation));
    this.#work.clear();
    this.#resumed = [];
    this.#state.events.breakAll(unavailable("GetContainerEvents"));
  }

  revive(): void {
    this.#state.say("the runtime is back");
    this.#state.isDead = false;
  }

  pause(): void {
    this.#state.say("the runtime hangs");
    this.#isPaused = true;
  }

  resume(): void {
    this.#state.say("the runtime goes on");
    this.#isPaused = false;
    for (const go of this.#resumed.splice(0)) go();
  }

  async #serveLater<T>(
    operation: string,
    signal: AbortSignal,
    run: (signal: AbortSignal) => T | Promise<T>,
  ): Promise<T> {
    const resumed = new Promise<void>((resolve) => this.#resumed.push(resolve));
    return this.#begin(operation, signal, async (s) => {
      await raceAbort(resumed, s);
      return run(s);
    });
  }

  #begin<T>(operation: string, caller: AbortSignal, run: (signal: AbortSignal) => T | Promise<T>): T | Promise<T> {
    const link = linkSignals(caller);
    const result = run(link.signal);
    if (!(result instanceof Promise)) {
      link[Symbol.dispose]();
      return result;
    }
    const work: Work = { operation, stop: (error) => link.abort(error) };
    this.#work.add(work);
    return raceAbort(result, link.signal).finally(() => {
      this.#work.delete(work);
      link[Symbol.dispose]();
    });
  }
}

export const unavailable = (operation: string) =>
  new RuntimeError(operation, "unavailable", "the runtime is not there");

/**
 * Every call of an agent to the world passes through here: it is numbered, named, traced and delayed. Where a plan says
 * so, it fails before or after its effect, hangs, or becomes the moment at which the agent dies.
 *
 * A call belongs to one life of an agent. When that life is cut, its calls neither succeed nor fail, because no caller
 * is left. Chance decides whether a request in transit still takes effect. Promises settle only in events of the
 * virtual clock or in the caller's own abort, so the seed fixes the order of everything.
 */
import type { Clock } from "../src/ports/clock.ts";
import type { Random } from "../src/ports/random.ts";
import { openPortStream, type StreamOptions, type StreamSource } from "./port-stream.ts";
import type { Trace } from "./trace.ts";

export interface CallDescription {
  readonly port: string;
  readonly name: string;
  /** The target of the call: an id or a name. */
  readonly target: string;
  /** The UID of the pod that the call is for, when the caller names one that `target` does not identify. */
  readonly podUid?: string;
  /** The error of a call of this port that got no answer. */
  readonly unanswered: (effect: "none" | "done") => unknown;
}

export interface PortCall {
  /** Counts all calls of the world, from 1. */
  readonly number: number;
  readonly who: string;
  /** Which life of the agent, from 1. */
  readonly life: number;
  readonly port: string;
  readonly name: string;
  readonly target: string;
  readonly podUid?: string;
}

export type Fault =
  /** `effect` "done" is a lost reply. Without `error` the call fails as unanswered calls of that port do. */
  | { readonly kind: "fail"; readonly effect: "none" | "done"; readonly error?: unknown }
  /** No answer until the caller gives up. */
  | { readonly kind: "hang"; readonly effect: "none" | "done" }
  /** The agent dies before the call takes effect, or after the effect and before the reply. */
  | { readonly kind: "crash"; readonly effect: "none" | "done" };

export type FaultPlan = (call: PortCall) => Fault | undefined;

/** Observes every call of a world: when it is made, and when its caller gets the result or never will. */
export interface CallListener {
  made?(call: PortCall, fault: Fault | undefined): void;
  settled?(call: PortCall, result: CallResult): void;
}

/** "givenUp": the caller aborted. "cut": the caller died. */
export type CallResult = "ok" | "failed" | "givenUp" | "cut";

export interface PortCallsOptions {
  readonly clock: Clock;
  readonly trace: Trace;
  /** For latencies, and for the fate of requests in transit when their agent dies. */
  readonly random: Random;
  /** The latency of one direction, drawn once for the request and once for the reply. */
  readonly latencyMs?: (call: PortCall, random: Random) => number;
  readonly plan?: FaultPlan;
  /** Called when a plan makes the agent die; must cut the life. */
  readonly onCrash?: (call: PortCall) => void;
}

export class PortCalls {
  readonly options: PortCallsOptions;
  readonly listeners: CallListener[] = [];
  #count = 0;

  constructor(options: PortCallsOptions) {
    this.options = options;
  }

  /** How many calls were made. */
  get count(): number {
    return this.#count;
  }

  begin(who: string, number: number): Life {
    return new Life(this, who, number);
  }

  /** For `Life` only. */
  register({ port, name, target, podUid }: CallDescription, { who, number: life }: Life): PortCall {
    this.#count += 1;
    return { number: this.#count, who, life, port, name, target, ...(podUid !== undefined && { podUid }) };
  }

  latencyMs(call: PortCall): number {
    return Math.round(this.options.latencyMs?.(call, this.options.random) ?? 0);
  }

  say(call: PortCall, what: string): void {
    this.options.trace.record(`${this.options.clock.monotonicMs()} ${call.number} ${what}`);
  }
}

interface Pending {
  /** Called when the agent dies: the call or stream never settles. */
  cut(): void;
}

/** One life of an agent, from its start to its end. */
export class Life {
  readonly who: string;
  readonly number: number;
  /** The agent's clock; its timers are canceled when the life is cut. */
  readonly clock: Clock;
  readonly #calls: PortCalls;
  readonly #pending = new Set<Pending>();
  readonly #timers = new Set<() => void>();
  #alive = true;

  constructor(calls: PortCalls, who: string, number: number) {
    this.#calls = calls;
    this.who = who;
    this.number = number;
    const { clock } = calls.options;
    this.clock = {
      wallMs: () => clock.wallMs(),
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, fire) => this.#after(clock, delayMs, fire),
    };
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  /** How many calls and streams are open. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  /**
   * `effect` runs in the world when the request arrives; its signal aborts when no caller waits for the answer any
   * more.
   */
  call<T>(what: CallDescription, signal: AbortSignal, effect: (signal: AbortSignal) => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.#alive) return;
      if (signal.aborted) reject(signal.reason);
      else new CallUnderWay(this.#calls, this, this.#pending, what, signal, effect, resolve, reject).send();
    });
  }

  /** Like `call`, for a stream of values. */
  stream<T>(
    what: CallDescription,
    signal: AbortSignal,
    source: StreamSource<T>,
    options: StreamOptions = {},
  ): AsyncGenerator<T, void, undefined> {
    const { clock } = this.#calls.options;
    const call = { number: 0, who: this.who, life: this.number, port: what.port, name: what.name, target: what.target };
    const latencyMs = () => this.#calls.latencyMs(call);
    const open = (effect: () => void) => this.call(what, signal, effect);
    return openPortStream(
      { open, isAlive: () => this.#alive, pending: this.#pending, clock, latencyMs },
      signal,
      source,
      options,
    );
  }

  /** Kills the agent now. */
  cut(): void {
    this.#alive = false;
    for (const pending of this.#pending) pending.cut();
    this.#pending.clear();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  #after(clock: Clock, delayMs: number, fire: () => void): () => void {
    if (!this.#alive) return () => {};
    const cancelTimer = clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      fire();
    });
    const cancel = () => {
      this.#timers.delete(cancel);
      cancelTimer();
    };
    this.#timers.add(cancel);
    return cancel;
  }
}

const NOBODY_WAITS = new Error("nobody waits for the answer");

type Outcome<T> =
  | { readonly kind: "answer"; readonly value: T }
  | { readonly kind: "refusal"; readonly error: unknown };

class CallUnderWay<T> implements Pending {
  readonly #calls: PortCalls;
  readonly #call: PortCall;
  readonly #fault: Fault | undefined;
  readonly #what: CallDescription;
  readonly #pending: Set<Pending>;
  readonly #caller: AbortSignal;
  readonly #effect: (signal: AbortSignal) => T | Promise<T>;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: unknown) => void;
  readonly #server = new AbortController();
  /** "lost": the request never arrives. */
  #stage: "request" | "effect" | "lost" = "request";
  #open = true;
  /** The effect has finished, so it is not aborted. */
  #isDone = false;

  constructor(
    calls: PortCalls,
    life: Life,
    pending: Set<Pending>,
    what: CallDescription,
    caller: AbortSignal,
    effect: (signal: AbortSignal) => T | Promise<T>,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ) {
    this.#calls = calls;
    this.#what = what;
    this.#pending = pending;
    this.#caller = caller;
    this.#effect = effect;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#call = calls.register(what, life);
    this.#fault = calls.options.plan?.(this.#call);
    for (const listener of calls.listeners) listener.made?.(this.#call, this.#fault);
  }

  send(): void {
    const fault = this.#fault === undefined ? "" : ` ! ${this.#fault.kind} ${this.#fault.effect}`;
    const { who, life, port, name, target } = this.#call;
    this.#calls.say(this.#call, `${who}#${life} ${port}.${name} ${target}${fault}`);
    this.#pending.add(this);
    this.#caller.addEventListener("abort", this.#onAbort, { once: true });
    this.#calls.options.clock.after(this.#calls.latencyMs(this.#call), () => this.#arrive());
  }

  cut(): void {
    if (!this.#open) return;
    if (this.#stage === "request" && this.#calls.options.random.fraction() < 0.5) this.#stage = "lost";
    this.#close("cut", "cut");
  }

  readonly #onAbort = () => {
    // A request that has not arrived is withdrawn.
    if (this.#stage === "request") this.#stage = "lost";
    this.#finish("given up", "givenUp", () => this.#reject(this.#caller.reason));
  };

  #arrive(): void {
    if (this.#stage === "lost") return;
    this.#stage = "effect";
    const fault = this.#fault;
    if (fault?.effect !== "none") return this.#take();
    switch (fault.kind) {
      case "fail":
        return this.#reply({ kind: "refusal", error: this.#errorOf(fault) });
      case "crash":
        return this.#crash();
      default: // The call hangs.
    }
  }

  #take(): void {
    if (!this.#open) this.#calls.say(this.#call, "takes effect after the end of its agent");
    try {
      const result = this.#effect(this.#server.signal);
      if (!(result instanceof Promise)) return this.#done({ kind: "answer", value: result });
      result.then(
        (value) => this.#done({ kind: "answer", value }),
        (error: unknown) => this.#done({ kind: "refusal", error }),
      );
    } catch (error) {
      this.#done({ kind: "refusal", error });
    }
  }

  #done(outcome: Outcome<T>): void {
    this.#isDone = true;
    const fault = this.#fault;
    if (!this.#open || fault?.kind === "hang") return;
    if (fault?.kind === "crash") this.#crash();
    else this.#reply(fault === undefined ? outcome : { kind: "refusal", error: this.#errorOf(fault) });
  }

  #reply(outcome: Outcome<T>): void {
    const latencyMs = this.#calls.latencyMs(this.#call);
    if (latencyMs > 0) this.#calls.options.clock.after(latencyMs, () => this.#deliver(outcome));
    else this.#deliver(outcome);
  }

  #deliver(outcome: Outcome<T>): void {
    if (outcome.kind === "answer") this.#finish("ok", "ok", () => this.#resolve(outcome.value));
    else this.#finish(`failed: ${String(outcome.error)}`, "failed", () => this.#reject(outcome.error));
  }

  #crash(): void {
    if (!this.#open) return;
    this.#calls.options.onCrash?.(this.#call);
  }

  #errorOf(fault: Fault & { readonly kind: "fail" }): unknown {
    return fault.error ?? this.#what.unanswered(fault.effect);
  }

  #finish(word: string, result: CallResult, settle: () => void): void {
    if (!this.#open) return;
    this.#close(word, result);
    settle();
  }

  #close(word: string, result: CallResult): void {
    this.#open = false;
    this.#pending.delete(this);
    this.#caller.removeEventListener("abort", this.#onAbort);
    this.#calls.say(this.#call, word);
    for (const listener of this.#calls.listeners) listener.settled?.(this.#call, result);
    if (!this.#isDone) this.#server.abort(NOBODY_WAITS);
  }
}

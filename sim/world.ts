/**
 * A world: many nodes, one API server, one registry, one clock, and randomness from one seed. Everything in it happens
 * in events of the clock. Two worlds with the same seed and the same inputs therefore run identically; the hash of the
 * trace shows it.
 */
import { assert } from "../src/base/assert.ts";
import type { ApiServer } from "../src/ports/api-server.ts";
import type { Log } from "../src/ports/log.ts";
import { FakeApiServer } from "./fake-api-server/fake-api-server.ts";
import type { WatchTimes } from "./fake-api-server/watches.ts";
import { FakeHttp } from "./fake-http.ts";
import type { FakeRuntimeOptions } from "./fake-runtime/node-state.ts";
import { FakeRegistry } from "./fake-runtime/registry.ts";
import { type FaultPlan, type PortCall, PortCalls, type PortCallsOptions } from "./port-calls.ts";
import { SeededRandom } from "./seeded-random.ts";
import { SimNode } from "./sim-node.ts";
import { Trace } from "./trace.ts";
import { VirtualClock } from "./virtual-clock.ts";

export interface WorldOptions {
  readonly seed: number | string;
  readonly latencyMs?: PortCallsOptions["latencyMs"];
  readonly plan?: FaultPlan;
  /** Called after an agent died where the plan wanted it: the place to start the next one. */
  readonly onCrash?: (node: SimNode, call: PortCall) => void;
  readonly watchTimes?: Partial<WatchTimes>;
  /** What containers do whose command is not a script. */
  readonly behaviourOf?: FakeRuntimeOptions["behaviourOf"];
  readonly logOf?: (node: string, module: string) => Log;
}

/** The caller of the scenario's own calls. */
const USER = "user";

const SILENT: Log = { info: () => {}, error: () => {} };

export class World {
  readonly clock = new VirtualClock();
  readonly trace = new Trace();
  readonly http = new FakeHttp(this.clock);
  readonly registry = new FakeRegistry();
  readonly random: SeededRandom;
  readonly calls: PortCalls;
  readonly api: FakeApiServer;
  /** The API server as the scenario's user, an administrator, sees it. */
  readonly user: ApiServer;
  readonly #options: WorldOptions;
  readonly #nodes = new Map<string, SimNode>();

  constructor(options: WorldOptions) {
    const { seed, latencyMs, plan, watchTimes } = options;
    this.#options = options;
    this.random = new SeededRandom(seed);
    const { clock, trace, random } = this;
    this.calls = new PortCalls({
      clock,
      trace,
      random: random.split("calls"),
      ...(latencyMs !== undefined && { latencyMs }),
      ...(plan !== undefined && { plan: (call) => (call.who === USER ? undefined : plan(call)) }),
      onCrash: (call) => this.#crash(call),
    });
    this.api = new FakeApiServer({
      // The API server runs on its own machine, whose clock is correct.
      clock: {
        wallMs: () => clock.trueWallMs(),
        monotonicMs: () => clock.monotonicMs(),
        after: (delayMs, fire) => clock.after(delayMs, fire),
      },
      random: random.split("api"),
      ...(watchTimes !== undefined && { watchTimes }),
    });
    this.user = this.api.connect(this.calls.begin(USER, 1));
  }

  get nodes(): ReadonlyMap<string, SimNode> {
    return this.#nodes;
  }

  addNode(name: string): SimNode {
    assert(!this.#nodes.has(name) && name !== USER, `there is a node ${name}`);
    const { clock, random, trace, calls, api, http, registry } = this;
    const { behaviourOf, logOf = () => SILENT } = this.#options;
    const table = behaviourOf === undefined ? {} : { behaviourOf };
    const node = new SimNode(name, { clock, random, trace, calls, api, http, registry, logOf, ...table });
    this.#nodes.set(name, node);
    return node;
  }

  /** Advances the clock. */
  advance(byMs: number): Promise<void> {
    return this.clock.advance(byMs);
  }

  /** Advances the clock until `promise` has settled, and returns its result; throws after `limitMs`. */
  async until<T>(promise: Promise<T>, limitMs = 600_000): Promise<T> {
    let isSettled = false;
    const settled = () => {
      isSettled = true;
    };
    promise.then(settled, settled);
    const endMs = this.clock.monotonicMs() + limitMs;
    for (;;) {
      await this.clock.advance(0);
      if (isSettled) return promise;
      if (!this.clock.fireNext(endMs)) throw new Error(`nothing came of it within ${limitMs} ms`);
    }
  }

  #crash(call: PortCall): void {
    const node = this.#nodes.get(call.who);
    assert(node !== undefined, `${call.who} is no node`);
    node.crash();
    this.#options.onCrash?.(node, call);
  }
}

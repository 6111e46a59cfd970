/** Keeps an agent running on a node, as an init system does: whatever ended it, the next one comes after a while. */
import type { AgentFactory, SimNode } from "../sim-node.ts";
import type { VirtualClock } from "../virtual-clock.ts";

export interface SupervisorParts {
  readonly node: SimNode;
  readonly agent: AgentFactory;
  readonly clock: VirtualClock;
  /** Drawn for each start. */
  readonly restartMs: () => number;
  /** Called when nothing of the agent is left and before the next one starts. */
  readonly beforeStart: () => void;
  /** An agent is about to die, or just has. */
  readonly onDeath: () => void;
  /** An agent ended by itself, which is a bug of the agent's. */
  readonly onFailure: (error: unknown) => void;
}

export class Supervisor {
  readonly #parts: SupervisorParts;
  #isStarting = false;
  #failure: unknown;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
  }

  /** Starts an agent at once. */
  begin(): void {
    this.#start();
  }

  kill(): void {
    this.#parts.node.crash();
    this.died();
  }

  killMachine(): void {
    this.#parts.node.crashMachine();
    this.died();
  }

  /** Somebody else has killed it. */
  died(): void {
    this.#parts.onDeath();
    this.#startSoon();
  }

  /** Asks it to end, as an operator does. */
  stop(): void {
    const { node } = this.#parts;
    if (node.isRunning) void node.stop().then(() => this.#startSoon());
  }

  #startSoon(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    this.#parts.clock.after(this.#parts.restartMs(), () => {
      this.#isStarting = false;
      if (!this.#parts.node.isRunning) this.#start();
    });
  }

  /** Looks whether an agent has ended that nobody ended. */
  look(): void {
    const { node, onFailure } = this.#parts;
    if (node.failure !== undefined && node.failure !== this.#failure) {
      this.#failure = node.failure;
      onFailure(node.failure.error);
    }
    if (!node.isRunning) this.#startSoon();
  }

  #start(): void {
    const { node, agent, beforeStart } = this.#parts;
    beforeStart();
    node.start(agent);
  }
}

/**
 * Keeps an agent running on a node, as an init system does: whatever ended the agent, the next one starts after a
 * delay.
 */
import type { AgentFactory, SimNode } from "../sim-node.ts";
import type { VirtualClock } from "../virtual-clock.ts";

export interface SupervisorParts {
  readonly node: SimNode;
  readonly agent: AgentFactory;
  readonly clock: VirtualClock;
  /** The delay of a restart, drawn for each start. */
  readonly restartMs: () => number;
  /** Called when the agent has ended completely and before the next one starts. */
  readonly beforeStart: () => void;
  /** Called when an agent is about to die, or has just died. */
  readonly onDeath: () => void;
  /** Called when an agent ended by itself, which is a bug of the agent. */
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

  /** To be called when something other than this supervisor has killed the agent. */
  died(): void {
    this.#parts.onDeath();
    this.#startSoon();
  }

  /** Requests the agent's shutdown, as an operator does. */
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

  /** Detects an agent that ended by itself, and restarts it. */
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

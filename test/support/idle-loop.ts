/** Measures the delay of an idle event loop: the effect of other load on this machine. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

export const RESOLUTION_MS = 5;

const CODE = `
const { monitorEventLoopDelay } = require("node:perf_hooks");
const { parentPort } = require("node:worker_threads");
const delay = monitorEventLoopDelay({ resolution: ${RESOLUTION_MS} });
delay.enable();
parentPort.on("message", () => parentPort.postMessage({ p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 }));
`;

export class IdleLoop implements AsyncDisposable {
  readonly #worker = new Worker(CODE, { eval: true });

  async p99Ms(): Promise<number> {
    return (await this.#reported()).p99;
  }

  async maxMs(): Promise<number> {
    return (await this.#reported()).max;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }

  async #reported(): Promise<{ readonly p99: number; readonly max: number }> {
    this.#worker.postMessage("tell", []);
    const [reported] = (await once(this.#worker, "message")) as [{ readonly p99: number; readonly max: number }];
    return reported;
  }
}

/** A thread that does nothing but measure how late its timers are: what the machine does to any process that is ready to run. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

const CODE = `
const { monitorEventLoopDelay } = require("node:perf_hooks");
const { parentPort } = require("node:worker_threads");
const lag = monitorEventLoopDelay({ resolution: 5 });
lag.enable();
parentPort.on("message", () => parentPort.postMessage(lag.max / 1e6));
`;

export class IdleThread implements AsyncDisposable {
  readonly #worker = new Worker(CODE, { eval: true });

  async lagMs(): Promise<number> {
    this.#worker.postMessage("tell", []);
    const [lagMs] = (await once(this.#worker, "message")) as [number];
    return lagMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

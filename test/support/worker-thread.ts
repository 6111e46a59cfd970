/**
 * Runs a function of a module on its own thread; argument and result must be cloneable. The test runner hooks into
 * every promise of its own thread, which halves the speed of a simulation.
 */
import { Worker } from "node:worker_threads";

const SCRIPT = `
import { parentPort, workerData } from "node:worker_threads";
const module = await import(workerData.module);
parentPort.postMessage(await module[workerData.name](workerData.argument));
`;

export function inWorkerThread<A, T>(module: URL, run: (argument: A) => Promise<T>, argument: A): Promise<T> {
  return new Promise((resolve, reject) => {
    const data = { module: module.href, name: run.name, argument };
    const url = new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`);
    const worker = new Worker(url, { workerData: data });
    worker.once("message", (result: T) => resolve(result));
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error(`the thread of ${run.name} ended without a result`)));
  });
}

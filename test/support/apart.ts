/**
 * Runs a function of a module on a thread of its own, with an argument and a result that can be copied. The test runner watches every promise of its own
 * thread, which costs a simulation, made of promises, half its speed.
 */
import { Worker } from "node:worker_threads";

const SCRIPT = `
import { parentPort, workerData } from "node:worker_threads";
const module = await import(workerData.module);
parentPort.postMessage(await module[workerData.name](workerData.argument));
`;

export function apart<A, T>(module: URL, run: (argument: A) => Promise<T>, argument: A): Promise<T> {
  return new Promise((resolve, reject) => {
    const data = { module: module.href, name: run.name, argument };
    const url = new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`);
    const worker = new Worker(url, { workerData: data });
    worker.once("message", (result: T) => resolve(result));
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error(`the thread of ${run.name} ended without a result`)));
  });
}

/**
 * Swaps a directory for a symlink to another directory and back, as fast as one processor can, like a hostile
 * container. Every few hundred swaps it pauses with the directory in place, so that some calls find the directory
 * however fast the machine swaps.
 */
import { Worker } from "node:worker_threads";

const CODE = `
const { renameSync, rmSync, symlinkSync } = require("node:fs");
const { workerData: { volume, name, outside, counter } } = require("node:worker_threads");
const counts = new Int32Array(counter);
const at = (each) => volume + "/" + each;
// Another process may have created a directory in between.
const move = (from, to) => {
  for (;;) {
    try {
      return renameSync(at(from), at(to));
    } catch {
      try {
        rmSync(at(to), { recursive: true, force: true });
      } catch {} // It grows while it goes: once more.
    }
  }
};
symlinkSync(outside, at("link"));
while (Atomics.load(counts, 1) === 0) {
  move(name, "folder");
  move("link", name);
  move(name, "link");
  move("folder", name);
  if (Atomics.add(counts, 0, 2) % 500 === 0) Atomics.wait(counts, 1, 0, 5);
}
`;

export class Racer {
  readonly #counts: Int32Array<SharedArrayBuffer>;
  readonly #ended: Promise<void>;

  constructor(volume: string, name: string, outside: string) {
    const counter = new SharedArrayBuffer(8);
    this.#counts = new Int32Array(counter);
    const worker = new Worker(CODE, { eval: true, workerData: { volume, name, outside, counter } });
    this.#ended = new Promise((resolve, reject) => {
      worker.once("error", reject);
      worker.once("exit", () => resolve());
    });
    this.#ended.catch(() => {}); // The error is thrown by `end`.
  }

  get swaps(): number {
    return Atomics.load(this.#counts, 0);
  }

  async end(): Promise<void> {
    Atomics.store(this.#counts, 1, 1);
    await this.#ended;
  }
}

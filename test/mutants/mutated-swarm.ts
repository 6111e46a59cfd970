/** Runs seeds of the swarm on its own thread, in which one file of the production code is mutated when it is loaded. */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import type { WorkloadKind } from "../../sim/swarm/workload.ts";
import { inRepository } from "../../tools/repository.ts";
import { mutated } from "./run-mutant.ts";
import type { SwarmMutant } from "./swarm-mutants.ts";

export interface FoundBySwarm {
  readonly seed: number;
  readonly violation: string;
}

export interface SwarmSearch {
  readonly seeds: readonly number[];
  readonly minutes: number;
  readonly workload: WorkloadKind;
}

const SCRIPT = `
import { registerHooks } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
const { file, source, swarm, seeds, minutes, workload, breaks } = workerData;
let isMutated = false;
registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (url !== file) return loaded;
    isMutated = true;
    return { ...loaded, source };
  },
});
const { runSeed } = await import(swarm);
if (!isMutated) throw new Error("the swarm does not load " + file);
let found;
for (const seed of seeds) {
  const { violations } = await runSeed({ seed, minutes, workload, stopAt: breaks });
  const violation = violations.find((text) => text.includes(breaks));
  if (violation !== undefined) found = { seed, violation };
  if (found !== undefined) break;
}
parentPort.postMessage(found);
`;

/** The first of these seeds that finds the mutant; undefined if none does. */
export function searchSwarm(
  mutant: SwarmMutant,
  { seeds, minutes, workload }: SwarmSearch,
): Promise<FoundBySwarm | undefined> {
  const path = inRepository(mutant.file);
  const workerData = {
    file: pathToFileURL(path).href,
    source: mutated(readFileSync(path, "utf8"), mutant),
    swarm: pathToFileURL(inRepository("sim/swarm.ts")).href,
    seeds,
    minutes,
    workload,
    breaks: mutant.breaks,
  };
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`), { workerData });
    worker.once("message", (found: FoundBySwarm | undefined) => resolve(found));
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error(`the thread for "${mutant.name}" ended without a result`)));
  });
}

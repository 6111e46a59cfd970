/**
 * Lists the files that a proof runs: its own file, files of other suites whose tests have a whole size too, or both.
 */
import { existsSync, globSync } from "node:fs";
import { basename } from "node:path";
import { inRepository, repositoryRoot } from "../repository.ts";
import type { Batch } from "./suites.ts";

const SUFFIX = ".proof.ts";

/** Keyed by the proof's name. The gate runs these files in the small size. */
const OF_TESTS: Readonly<Record<string, readonly string[]>> = {
  lifecycle: [
    "test/proofs/lifecycle.proof.ts",
    ...["probe-network", "stuck-ends", "reboot", "explain"].map((name) => `test/integration/${name}.test.ts`),
  ],
  // The comparing suites with both agents running; in the gate they compare with recordings.
  differential: [
    "admission-differential",
    "cgroup-differential",
    "container-logs",
    "endpoints-differential",
    "kubectl-top",
    "node-differential",
    "node-metrics",
    "node-stats",
    "options-differential",
    "ordinary-differential",
    "probes",
    "resize",
    "restart-differential",
    "roles-differential",
  ].map((name) => `test/integration/${name}.test.ts`),
  // All tests in guests, and the costs of the executable outside of a guest.
  installed: [
    ...globSync(["test/guest/*.test.ts", "test/installed/*.test.ts"], { cwd: repositoryRoot }).toSorted(),
    "test/integration/executable.test.ts",
    "test/proofs/installed.proof.ts",
  ],
  // The comparisons in whose recordings --deckhand-compatibility could be seen, and upstream's tests that CI runs.
  "enhanced-mode": [
    ...["admission", "ordinary", "restart", "roles", "node"].map(
      (name) => `test/integration/${name}-differential.test.ts`,
    ),
    "test/proofs/enhanced-mode.proof.ts",
  ],
  "earlier-agent": globSync("test/proofs/earlier-agent/*.proof.ts", { cwd: repositoryRoot }),
  "crash-points": globSync("test/proofs/crash-points/*.proof.ts", { cwd: repositoryRoot }).toSorted(),
  hostile: globSync("test/proofs/hostile/*.proof.ts", { cwd: repositoryRoot }).toSorted(),
  pressure: globSync("test/proofs/pressure/*.proof.ts", { cwd: repositoryRoot }).toSorted(),
  // Bugs in production code that the comparisons with the recordings must find.
  mutants: globSync("test/proofs/mutants/*.proof.ts", { cwd: repositoryRoot }).toSorted(),
  "node-api": [
    "node-server",
    "hostile-clients",
    "node-streams",
    "container-logs",
    "container-logs-rotation",
    "node-identity",
    "kubeadm-files",
  ].map((name) => `test/integration/${name}.test.ts`),
};

export const proofNames = (): readonly string[] => {
  const names = [
    ...globSync(`test/proofs/*${SUFFIX}`, { cwd: repositoryRoot }).map((path) => basename(path, SUFFIX)),
    ...Object.keys(OF_TESTS).filter(
      (name) => proofFiles(name).length > 0 && proofFiles(name).every((path) => existsSync(inRepository(path))),
    ),
  ];
  return [...new Set(names)].toSorted();
};

const proofFiles = (name: string): readonly string[] => OF_TESTS[name] ?? [`test/proofs/${name}${SUFFIX}`];

/** Proofs whose suites compare with a running Go kubelet instead of its recorded answers. */
const LIVE: ReadonlySet<string> = new Set(["differential", "installed"]);

export const proofEnvironment = (name: string): Readonly<Record<string, string>> => ({
  ...(LIVE.has(name) && { DECKHAND_COMPARISON: "live" }),
  ...(name === "enhanced-mode" && { DECKHAND_COMPATIBILITY: "enhanced" }),
});

/** Proofs whose files from the integration suite only compare and measure nothing, so two of them run at once. */
const COMPARING: ReadonlySet<string> = new Set(["lifecycle", "differential", "enhanced-mode"]);

/** Proofs whose files mostly wait. */
const AT_ONCE: Readonly<Record<string, number>> = { mutants: 3 };

export function proofBatches(name: string): readonly Batch[] {
  const files = proofFiles(name);
  const atOnce = AT_ONCE[name];
  if (atOnce !== undefined) return [{ files, concurrency: atOnce }];
  if (!COMPARING.has(name)) return [{ files, concurrency: 1 }];
  const alone = files.filter((file) => file.endsWith(SUFFIX));
  return [
    { files: alone, concurrency: 1 },
    { files: files.filter((file) => !alone.includes(file)), concurrency: 2 },
  ];
}

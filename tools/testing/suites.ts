/** Which files belong to which suite, which of them run at once, and in what order. */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";

export const suiteNames = ["unit", "integration", "guest"] as const;
export type SuiteName = (typeof suiteNames)[number];

export interface Suite {
  readonly patterns: readonly string[];
  /** How many files run at once. */
  readonly concurrency: number;
  /** The longest, which begin first: one that began last would run on alone. */
  readonly first: readonly string[];
  /** Those that measure how long something takes, or how late it is: they run after all others. */
  readonly measuring: Batch;
  /** Those that leave things on the machine, which another cluster that ends at that moment would report: one at a time, at the end. */
  readonly alone: readonly string[];
  /** Those that start no cluster and change nothing on the machine: they run while `alone` runs. */
  readonly besideAlone: readonly string[];
  /** A file that takes longer is killed and has failed. */
  readonly fileLimitMs: number;
}

/** Files that run so many at a time, begun in this order. */
export interface Batch {
  readonly files: readonly string[];
  readonly concurrency: number;
  /** Runs at the same time as this batch. */
  readonly beside?: Batch;
}

const integration = (...names: readonly string[]) => names.map((name) => `test/integration/${name}.test.ts`);
const proof = (...names: readonly string[]) => names.map((name) => `test/proofs/${name}.proof.ts`);

/** `survival`, `static-pods` and `way-of-a-pod` run small in the integration file of that name, `harness` in `cluster.test.ts`. */
const SMALL_PROOFS = proof(
  "crash-points",
  "idle-nodes",
  "lifecycle",
  "mounts",
  "ordinary-pods",
  "ordinary-pods-swarm",
  "soak",
  "soak-simulated",
  "virtual-clock",
  "wires",
);

export const suites: Readonly<Record<SuiteName, Suite>> = {
  unit: {
    patterns: [
      "src",
      "sim",
      "tools",
      "test/cluster",
      "test/contract",
      "test/conformance",
      "test/golden",
      "test/guest/pieces",
      "test/mutants",
    ].map((folder) => `${folder}/**/*.test.ts`),
    concurrency: availableParallelism(),
    first: [],
    measuring: { files: [], concurrency: 1 },
    alone: [],
    besideAlone: [],
    fileLimitMs: 5 * 60_000,
  },
  // Most of them wait more than they work. Of the proofs, those run here in a small size that no other file runs small.
  integration: {
    patterns: ["test/integration/**/*.test.ts", ...SMALL_PROOFS],
    concurrency: 3,
    first: [
      ...integration("way-of-a-pod", "survival"),
      ...proof("soak"),
      ...integration("host-duties", "ordinary-differential", "node-identity", "doctor", "static-pods", "probes"),
      ...integration("explain", "switch-over", "container-logs-rotation", "resize", "installed-agent"),
      ...integration("admission-differential", "switch-over-volumes", "roles-differential", "stuck-ends"),
      ...integration("ordinary-pods", "packages", "build", "node-streams", "node-stats"),
    ],
    measuring: {
      files: [
        ...integration("node-api", "api-wire", "cri-contract", "restart-differential", "image-pulls", "mounts"),
        ...proof("wires", "mounts"),
        ...integration("cri-wire", "hostile-clients", "journal-speed", "otlp-wire"),
      ],
      concurrency: 2,
    },
    alone: integration("cluster", "cluster-ends"),
    besideAlone: [
      ...proof("crash-points", "lifecycle", "soak-simulated", "ordinary-pods-swarm", "idle-nodes", "virtual-clock"),
      ...integration("options-differential", "journal-crash", "generate"),
    ],
    fileLimitMs: 30 * 60_000,
  },
  // An emulated guest keeps a core or two busy.
  guest: {
    patterns: ["test/guest/*.test.ts"],
    concurrency: 1,
    first: [],
    measuring: { files: [], concurrency: 1 },
    alone: [],
    besideAlone: [],
    fileLimitMs: 30 * 60_000,
  },
};

/** The suite's files; with filters, those whose path contains one of them. */
export function suiteBatches(
  { patterns, concurrency, first, measuring, alone, besideAlone }: Suite,
  root: string,
  filters: readonly string[],
): readonly Batch[] {
  const found = globSync([...patterns], { cwd: root }).filter(
    (file) => filters.length === 0 || filters.some((filter) => file.includes(filter)),
  );
  const known = (files: readonly string[]) => files.filter((file) => found.includes(file));
  const placed = [...first, ...measuring.files, ...alone, ...besideAlone];
  const others = found.filter((file) => !placed.includes(file)).toSorted();
  return [
    { files: [...known(first), ...others], concurrency },
    { ...measuring, files: known(measuring.files) },
    { files: known(alone), concurrency: 1, beside: { files: known(besideAlone), concurrency: 2 } },
  ];
}

/** Which files belong to which suite, which of them run at once, and in what order. */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";

export const suiteNames = ["unit", "simulator", "integration", "harness", "guest"] as const;
export type SuiteName = (typeof suiteNames)[number];

export interface Suite {
  readonly patterns: readonly string[];
  /** Files that match and belong to another suite. */
  readonly except: readonly string[];
  /** Without real parts: a failure is the code's, and a file that fails gets no second try. */
  readonly isDeterministic: boolean;
  /** How many files run at once. */
  readonly concurrency: number;
  /** The longest, which begin first: one that began last would run on alone. */
  readonly first: readonly string[];
  /** Those that measure how long something takes, or how late it is: they run after all others. */
  readonly measuring: Batch;
  /** A file that takes longer is killed and has failed. */
  readonly fileLimitMs: number;
}

/** Files that run so many at a time, begun in this order. */
export interface Batch {
  readonly files: readonly string[];
  readonly concurrency: number;
}

const integration = (...names: readonly string[]) => names.map((name) => `test/integration/${name}.test.ts`);
const proof = (...names: readonly string[]) => names.map((name) => `test/proofs/${name}.proof.ts`);

/** They simulate: only the order of their events counts, so they run small in the suite of the simulator. */
const SIMULATED_PROOFS = proof(
  "crash-points",
  "soak-simulated",
  "lifecycle",
  "ordinary-pods-swarm",
  "idle-nodes",
  "virtual-clock",
);
/**
 * `survival`, `static-pods` and `way-of-a-pod` run small in the integration file of that name, `harness` in `cluster.test.ts`. A
 * leak on real parts shows after more than a minute: `soak` is simulated here.
 */
const SMALL_PROOFS = proof("mounts", "ordinary-pods", "wires");
/** They leave things on the machine, which another cluster that ends at that moment would report. */
const OF_CLUSTERS = integration("cluster", "cluster-ends");

const MINUTE_MS = 60_000;
const NO_ORDER = { except: [], first: [], measuring: { files: [], concurrency: 1 } } as const;
const OF_REAL_PARTS = { ...NO_ORDER, isDeterministic: false, fileLimitMs: 30 * MINUTE_MS } as const;

export const suites: Readonly<Record<SuiteName, Suite>> = {
  unit: {
    ...NO_ORDER,
    patterns: [
      "src",
      "tools",
      "bench",
      "test/cluster",
      "test/contract",
      "test/conformance",
      "test/golden",
      "test/guest/pieces",
      "test/mutants",
    ].map((folder) => `${folder}/**/*.test.ts`),
    isDeterministic: true,
    // Some of them wait.
    concurrency: availableParallelism() + 1,
    first: ["tools/run-tests.test.ts", "tools/generated-docs.test.ts"],
    fileLimitMs: 5 * MINUTE_MS,
  },
  simulator: {
    ...NO_ORDER,
    patterns: ["sim/**/*.test.ts", ...SIMULATED_PROOFS],
    isDeterministic: true,
    concurrency: availableParallelism(),
    first: SIMULATED_PROOFS,
    fileLimitMs: 30 * MINUTE_MS,
  },
  // Most of them wait more than they work. Of the proofs, those run here in a small size that no other file runs small.
  integration: {
    ...OF_REAL_PARTS,
    patterns: ["test/integration/**/*.test.ts", ...SMALL_PROOFS],
    except: OF_CLUSTERS,
    concurrency: 4,
    first: [
      ...integration(
        "way-of-a-pod",
        "host-duties",
        "survival",
        "node-identity",
        "static-pods",
        "explain",
        "doctor",
        "probes",
        "container-logs-rotation",
      ),
      ...integration("ordinary-differential", "switch-over", "resize", "switch-over-volumes", "installed-agent"),
      ...integration("admission-differential", "stuck-ends", "roles-differential", "node-stats", "ordinary-pods"),
      ...integration("build", "packages", "node-streams"),
    ],
    measuring: {
      files: [
        ...integration("node-api", "api-wire", "cri-contract", "restart-differential", "image-pulls", "mounts"),
        ...proof("wires", "mounts"),
        ...integration("cri-wire", "hostile-clients", "hostile-pods", "journal-speed", "otlp-wire"),
      ],
      concurrency: 3,
    },
  },
  harness: {
    ...OF_REAL_PARTS,
    patterns: OF_CLUSTERS,
    concurrency: 1,
  },
  // An emulated guest keeps a core busy.
  guest: {
    ...OF_REAL_PARTS,
    patterns: ["test/guest/*.test.ts"],
    concurrency: 2,
    first: ["test/guest/cgroups-pods.test.ts"],
  },
};

/** The suite's files; with filters, those whose path contains one of them. */
export function suiteBatches(
  { patterns, except, concurrency, first, measuring }: Suite,
  root: string,
  filters: readonly string[],
): readonly Batch[] {
  const found = globSync([...patterns], { cwd: root }).filter(
    (file) => !except.includes(file) && (filters.length === 0 || filters.some((filter) => file.includes(filter))),
  );
  const known = (files: readonly string[]) => files.filter((file) => found.includes(file));
  const placed = [...first, ...measuring.files];
  const others = found.filter((file) => !placed.includes(file)).toSorted();
  return [
    { files: [...known(first), ...others], concurrency },
    { ...measuring, files: known(measuring.files) },
  ];
}

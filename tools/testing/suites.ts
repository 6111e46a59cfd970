/** Defines which files belong to which suite, how many of them run at once, and in what order. */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";

export const suiteNames = ["unit", "simulator", "integration", "harness", "guest"] as const;
export type SuiteName = (typeof suiteNames)[number];

export interface Suite {
  readonly patterns: readonly string[];
  /** Files that match a pattern but belong to another suite. */
  readonly except: readonly string[];
  /** The suite uses no real parts: a failure is the code's, and a failed file gets no second try. */
  readonly isDeterministic: boolean;
  /** How many files run at once. */
  readonly concurrency: number;
  /** The longest files start first; a long file that starts last would run on alone. */
  readonly first: readonly string[];
  /** Files that measure durations or delays: they run after all others. */
  readonly measuring: Batch;
  /** A file that takes longer is killed and fails. */
  readonly fileLimitMs: number;
}

/** Files that run with this concurrency and start in this order. */
export interface Batch {
  readonly files: readonly string[];
  readonly concurrency: number;
}

const integration = (...names: readonly string[]) => names.map((name) => `test/integration/${name}.test.ts`);
const proof = (...names: readonly string[]) => names.map((name) => `test/proofs/${name}.proof.ts`);

/** Simulated proofs: only the order of their events matters, so they run in the small size in the simulator suite. */
const SIMULATED_PROOFS = proof(
  ...["canonical", "volumes", "roles", "probes", "admission", "terminations", "resizes", "images", "eviction"].map(
    (area) => `crash-points/${area}`,
  ),
  "soak-simulated",
  "lifecycle",
  "ordinary-pods-swarm",
  "idle-nodes",
  "virtual-clock",
);
/**
 * `survival`, `static-pods` and `way-of-a-pod` run small in the integration file of that name, `harness` in
 * `cluster.test.ts`. A leak on real parts shows only after more than a minute, so `soak` is simulated here.
 */
const SMALL_PROOFS = proof("mounts", "ordinary-pods", "wires");
/** They leave objects on the machine, which another cluster would report if it ends at that moment. */
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
      "test/node-tests",
      "test/mutants",
    ].map((directory) => `${directory}/**/*.test.ts`),
    isDeterministic: true,
    // Some unit tests wait.
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
  // Most of these files mostly wait. The proofs that run here in the small size run small in no other file.
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
        "kubeconfigs",
      ),
      ...integration("ordinary-differential", "switch-over", "resize", "switch-over-volumes", "installed-agent"),
      ...integration("admission-differential", "stuck-ends", "roles-differential", "node-stats", "ordinary-pods"),
      ...integration("disk-pressure-differential"),
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

/** Returns the suite's files; with filters, only files whose path contains one of them. */
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

/** Selects upstream's tests, divides them into parts, and runs one part with ginkgo. */
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster, Component } from "../cluster/cluster.ts";
import type { Parts } from "../cluster/parts.ts";
import { pause } from "../cluster/wait.ts";
import { GrowingFile } from "./growing-file.ts";

const LOOK_EVERY_MS = 500;
const SELECTED = "(Conformance || NodeConformance)";

export const PARTS = ["parallel", "slow", "waiting", "serial"] as const;
export type Part = (typeof PARTS)[number];

/**
 * Slow tests run beside the others, since one of them takes as long as all the rest. Serial tests run alone, since
 * their taints evict the pods of other tests. Tests that will time out, since they need what the agent lacks, wait all
 * together.
 */
const LABELS: Readonly<Record<Part, string>> = {
  parallel: `${SELECTED} && !Slow && !Serial`,
  slow: `${SELECTED} && Slow && !Serial`,
  waiting: `${SELECTED} && !Serial`,
  serial: `${SELECTED} && Serial`,
};

export function partOf(test: string, waiting: ReadonlySet<string>): Part {
  if (test.includes("[Serial]")) return "serial";
  if (waiting.has(test)) return "waiting";
  return test.includes("[Slow]") ? "slow" : "parallel";
}

export interface GinkgoRun {
  /** The name of the component and of the files. */
  readonly name: string;
  readonly procs: number;
  readonly focus?: string | undefined;
  readonly directory: string;
  /** Called with each line soon after ginkgo printed it. */
  readonly onLine: (line: string) => void;
}

export interface PartRun extends GinkgoRun {
  readonly part: Part;
  readonly skip?: string | undefined;
}

/**
 * Starts ginkgo as a component of the cluster, so that it ends with the cluster whatever happens to this process, and
 * returns its report.
 */
export async function runPart(cluster: Cluster, parts: Parts, run: PartRun, signal: AbortSignal): Promise<unknown> {
  const { length: nodes, 0: node } = cluster.nodes;
  if (node === undefined) throw new Error("a cluster without a node cannot be tested");
  const scratch = join(cluster.layout.directory, "tests");
  await mkdir(scratch, { recursive: true });
  const program = {
    name: `ginkgo-${run.name}`,
    command: [
      parts.path("ginkgo"),
      ...ginkgoFlags(run),
      `--label-filter=${LABELS[run.part]}`,
      ...(run.skip === undefined ? [] : [`--skip=${run.skip}`]),
      parts.path("e2e.test"),
      "--",
      "--provider=skeleton",
      `--kubeconfig=${cluster.api.kubeconfig}`,
      `--kubectl-path=${parts.path("kubectl")}`,
      "--kubelet-root-dir=/var/lib/kubelet",
      `--container-runtime-endpoint=${node.criEndpoint}`,
      `--num-nodes=${nodes}`,
      "--allowed-not-ready-nodes=-1",
      "--dns-domain=cluster.local",
      `--report-dir=${run.directory}`,
      // The evidence of a failed test is collected first.
      "--delete-namespace-on-failure=false",
    ],
    // Files that the tests leave here are removed with the cluster.
    env: { TMPDIR: scratch },
    ready: { kind: "became", program: "ginkgo" },
  } as const;
  return ginkgoReport(await cluster.start(program), run, signal);
}

/** The flags of every run. */
export const ginkgoFlags = ({ name, procs, directory, focus }: Omit<GinkgoRun, "onLine">): readonly string[] => [
  `--procs=${procs}`,
  "--timeout=5h",
  "--no-color",
  "--silence-skips",
  "-v",
  "--keep-going",
  `--output-dir=${directory}`,
  `--json-report=${name}.json`,
  ...(focus === undefined ? [] : [`--focus=${focus}`]),
];

/** Passes on what a started ginkgo prints, keeps it, and returns ginkgo's report once it has ended. */
export async function ginkgoReport(
  ginkgo: Component,
  run: Pick<GinkgoRun, "name" | "directory" | "onLine">,
  signal: AbortSignal,
): Promise<unknown> {
  const output = new GrowingFile(ginkgo.logFile);
  try {
    for (let alive = true; alive; await pause(LOOK_EVERY_MS)) {
      signal.throwIfAborted();
      alive = await ginkgo.isAlive();
      await output.read(run.onLine);
    }
  } finally {
    await output.close();
  }
  await copyFile(ginkgo.logFile, join(run.directory, `${run.name}.log`));
  const text = await readFile(join(run.directory, `${run.name}.json`), "utf8").catch((error: unknown) => {
    throw new Error(`ginkgo left no report of the ${run.name} tests; see ${ginkgo.logFile}`, { cause: error });
  });
  return JSON.parse(text);
}

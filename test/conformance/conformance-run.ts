/**
 * One conformance run: it starts a separate cluster with the given agent, runs upstream's tests on it part by part, and
 * collects the outcome of each test.
 */
import { mkdir, rm } from "node:fs/promises";
import { errorText } from "../../src/base/error-text.ts";
import { currentCommit } from "../../tools/repository.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { command } from "../cluster/command.ts";
import type { AgentOptions } from "../cluster/node.ts";
import { buildParts, CLUSTER_UPSTREAMS, type Parts } from "../cluster/parts.ts";
import { waitUntil } from "../cluster/wait.ts";
import { startClusterNames } from "./cluster-names.ts";
import { conformanceImages } from "./images.ts";
import { focusOf } from "./ratchet.ts";
import {
  mergeOutcomes,
  passed,
  type Report,
  type RunEnvironment,
  readGinkgoReport,
  suiteProblems,
  type TestOutcome,
} from "./results.ts";
import { type ProgressOutput, RunWatch } from "./run-watch.ts";
import { PARTS, type Part, type PartRun, partOf, runPart } from "./suite.ts";

export interface RunOptions extends ProgressOutput {
  readonly agent: "go" | "deckhand";
  readonly agentOptions?: AgentOptions;
  /** How many nodes, all with this agent. */
  readonly nodes: number;
  /** The parts to run, and the number of processes for each. */
  readonly parts: Readonly<Partial<Record<Part, number>>>;
  readonly focus?: string | undefined;
  /** Tests that are known to need features that the agent lacks. */
  readonly waiting: ReadonlySet<string>;
  /**
   * Tests that should pass. Those that fail are run once more. A test that then passes was not lost but disturbed, and
   * the report shows both results.
   */
  readonly expected: ReadonlySet<string>;
  readonly directory: string;
  readonly signal: AbortSignal;
}

export interface RunResult {
  readonly report: Report;
  /** Problems of the run itself, because of which results may be missing. */
  readonly problems: readonly string[];
  /** How long the selected tests took. */
  readonly seconds: number;
}

/** A directory of the node that the pods of upstream's Job tests write to and never remove. */
const LEFT_BY_JOBS = "/tmp/job-e2e";

export async function runConformance(options: RunOptions): Promise<RunResult> {
  const { agent, directory, say, signal } = options;
  const parts = await buildParts(say, [...CLUSTER_UPSTREAMS, "conformance", "test-tools", "sample-apiserver"]);
  const images = await conformanceImages(parts, say);
  await mkdir(directory, { recursive: true });
  const cluster = await startCluster({
    controlPlane: "full",
    nodes: Array.from({ length: options.nodes }, () => ({
      agent,
      ...(options.agentOptions === undefined ? {} : { options: options.agentOptions }),
    })),
    images: () => Promise.resolve(images),
    report: say,
    signal,
  });
  const problems: string[] = [];
  let result: RunResult;
  try {
    for (const node of cluster.nodes) {
      await startClusterNames(cluster, node, parts);
      await nodeReady(cluster, node);
    }
    result = await testCluster(cluster, parts, options);
  } finally {
    // Leftovers fail the run, but an hour of results is not lost because of them.
    await cluster.down().catch((error: unknown) => problems.push(errorText(error)));
    await rm(LEFT_BY_JOBS, { recursive: true, force: true });
  }
  return { ...result, problems: [...result.problems, ...problems] };
}

const nodeReady = (cluster: Cluster, node: ClusterNode) =>
  waitUntil(
    `node ${node.name} to be ready`,
    90_000,
    async () => {
      const path = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}';
      return (await cluster.kubectl("get", "node", node.name, "-o", path)) === "True";
    },
    500,
  );

async function testCluster(cluster: Cluster, parts: Parts, options: RunOptions): Promise<RunResult> {
  const [node] = cluster.nodes;
  if (node === undefined) throw new Error("a cluster without a node cannot be tested");
  const environment = await environmentOf(cluster, node);
  await using watch = new RunWatch(cluster, options.directory, options);
  const startedMs = performance.now();
  const wallSeconds: Record<string, number> = {};
  const problems: string[] = [];
  const run: RunOne = async (part, name, selection) => {
    const procs = options.parts[part];
    if (procs === undefined) return [];
    const sinceMs = performance.now();
    const { directory, signal } = options;
    const onLine = (line: string) => watch.note(name, line);
    const report = await runPart(cluster, parts, { name, part, procs, ...selection, directory, onLine }, signal);
    wallSeconds[name] = Math.round((performance.now() - sinceMs) / 1000);
    problems.push(...suiteProblems(report).map((problem) => `the ${name} tests: ${problem}`));
    return readGinkgoReport(report);
  };
  const first = await runParts(run, options);
  const tests = mergeOutcomes(first, await runLostAgain(run, first, options));
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  if (isWhole(options)) wallSeconds["whole"] = seconds;
  await watch.finish();
  const report: Report = {
    agent: options.agent,
    environment,
    date: new Date().toISOString().slice(0, 10),
    runs: 1,
    versions: await versions(cluster, node, parts),
    wallSeconds,
    tests: tests.map((test) => watch.traced(test)),
  };
  return { report, problems, seconds };
}

/** Whether all parts run in full. */
const isWhole = ({ parts, focus, agent }: RunOptions): boolean =>
  focus === undefined && PARTS.every((part) => parts[part] !== undefined || (part === "waiting" && agent === "go"));

/** Runs one ginkgo; returns nothing if the part is not in this run. */
type RunOne = (part: Part, name: string, selection: Pick<PartRun, "focus" | "skip">) => Promise<readonly TestOutcome[]>;

async function runParts(run: RunOne, { focus, waiting }: RunOptions): Promise<readonly TestOutcome[]> {
  const inVain = [...waiting].filter((test) => partOf(test, waiting) === "waiting");
  const skip = inVain.length === 0 ? undefined : focusOf(inVain);
  const quick = async () => [
    ...(await run("parallel", "parallel", { focus, skip })),
    ...(skip === undefined ? [] : await run("waiting", "waiting", { focus: skip })),
  ];
  const beside = await Promise.all([quick(), run("slow", "slow", { focus, skip })]);
  return [...beside.flat(), ...(await run("serial", "serial", { focus }))];
}

/** Runs the tests again that were expected to pass and did not. */
async function runLostAgain(
  run: RunOne,
  tests: readonly TestOutcome[],
  { expected, waiting }: RunOptions,
): Promise<readonly TestOutcome[]> {
  const lost = tests.filter((test) => !passed(test) && expected.has(test.name)).map(({ name }) => name);
  const again: TestOutcome[] = [];
  for (const [part, names] of Map.groupBy(lost, (name) => partOf(name, waiting))) {
    again.push(...(await run(part, `${part}-again`, { focus: focusOf(names) })));
  }
  return again;
}

async function nodeInfo(cluster: Cluster, node: ClusterNode): Promise<Readonly<Record<string, string>>> {
  const { status } = JSON.parse(await cluster.kubectl("get", "node", node.name, "-o", "json")) as {
    readonly status: { readonly nodeInfo: Readonly<Record<string, string>> };
  };
  return status.nodeInfo;
}

async function environmentOf(cluster: Cluster, node: ClusterNode): Promise<RunEnvironment> {
  const info = await nodeInfo(cluster, node);
  const configz = await cluster.kubectl("get", "--raw", `/api/v1/nodes/${node.name}/proxy/configz`);
  const { kubeletconfig } = JSON.parse(configz) as { readonly kubeletconfig: { readonly cgroupDriver: string } };
  const { stdout: fileSystem } = await node.run("stat", "--file-system", "--format=%T", "/sys/fs/cgroup");
  return {
    commit: currentCommit(),
    platform: `${info["operatingSystem"]}/${info["architecture"]}`,
    cgroupVersion: fileSystem.trim() === "cgroup2fs" ? "v2" : "v1",
    cgroupDriver: kubeletconfig.cgroupDriver,
    nodes: cluster.nodes.length,
  };
}

async function versions(cluster: Cluster, node: ClusterNode, parts: Parts): Promise<Readonly<Record<string, string>>> {
  const info = await nodeInfo(cluster, node);
  const server = JSON.parse(await cluster.kubectl("get", "--raw", "/version")) as { readonly gitVersion: string };
  const first = async (program: "runc" | "etcd" | "coredns") =>
    /v?\d+\.\d+\.\d+/.exec(await command(parts.path(program), ["--version"]))?.[0] ?? "unknown";
  return {
    kubernetes: server.gitVersion,
    kubelet: info["kubeletVersion"] ?? "unknown",
    runtime: info["containerRuntimeVersion"] ?? "unknown",
    runc: await first("runc"),
    etcd: await first("etcd"),
    coredns: await first("coredns"),
    kernel: info["kernelVersion"] ?? "unknown",
  };
}

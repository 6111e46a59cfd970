/**
 * One run of upstream's node tests: it makes an isolated node without an agent, runs the tests on it, the serial ones
 * alone after all others, and collects the outcome of each. Everything ends with the node.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../../src/base/error-text.ts";
import { currentCommit } from "../../tools/repository.ts";
import { startCluster } from "../cluster/cluster.ts";
import { command } from "../cluster/command.ts";
import { buildParts, CLUSTER_UPSTREAMS, type Parts } from "../cluster/parts.ts";
import { pause } from "../cluster/wait.ts";
import { conformanceImages } from "../conformance/images.ts";
import { Progress } from "../conformance/progress.ts";
import {
  mergeOutcomes,
  passed,
  type Report,
  type RunEnvironment,
  readGinkgoReport,
  suiteProblems,
  type TestOutcome,
} from "../conformance/results.ts";
import type { ProgressOutput } from "../conformance/run-watch.ts";
import { saveFailures } from "./failures.ts";
import { removeLeftFiles } from "./left-files.ts";
import { isSerial } from "./lists.ts";
import {
  CGROUP_DRIVER,
  kubeconfigOf,
  prepareNode,
  reportDirectory,
  runSuite,
  type SuiteNode,
  type SuiteRun,
} from "./suite.ts";
import type { TreeTest } from "./tree.ts";

export interface NodeRunOptions extends ProgressOutput {
  readonly agent: "go" | "deckhand";
  readonly tests: readonly TreeTest[];
  /** Further flags of e2e_node.test. */
  readonly flags: readonly string[];
  /** How many of the tests that are not serial run at once. */
  readonly procs: number;
  /** Tests that should pass. Those that fail are run once more, and the report shows both results. */
  readonly expected: ReadonlySet<string>;
  /** For the reports, the logs and the evidence of failures. */
  readonly directory: string;
  readonly signal: AbortSignal;
}

export interface NodeRunResult {
  readonly report: Report;
  /** Problems of the run itself, because of which results may be missing. */
  readonly problems: readonly string[];
}

/** Builds what is not cached. */
export const nodeTestParts = (say: (line: string) => void): Promise<Parts> =>
  buildParts(say, [...CLUSTER_UPSTREAMS, "node-tests", "test-tools", "sample-apiserver"]);

export async function runNodeTests(parts: Parts, options: NodeRunOptions): Promise<NodeRunResult> {
  const { agent, directory, say, signal } = options;
  const images = await conformanceImages(parts, say);
  await mkdir(directory, { recursive: true });
  const cluster = await startCluster({
    controlPlane: "none",
    nodes: [{ agent: "none", ownCgroups: true }],
    images: () => Promise.resolve(images),
    report: say,
    signal,
  });
  const problems: string[] = [];
  let result: NodeRunResult;
  try {
    result = await new NodeRun(await prepareNode(cluster, parts, agent), options).run();
  } finally {
    // Leftovers fail the run, but its results are not lost because of them.
    await cluster.down().catch((error: unknown) => problems.push(errorText(error)));
  }
  return { ...result, problems: [...result.problems, ...problems] };
}

class NodeRun {
  readonly #node: SuiteNode;
  readonly #options: NodeRunOptions;
  /** Of the sources at the start of the run. */
  readonly #commit = currentCommit();
  readonly #progress = new Progress();
  readonly #problems: string[] = [];
  readonly #wallSeconds: Record<string, number> = {};
  #nodeInfo: Readonly<Record<string, string>> | undefined;

  constructor(node: SuiteNode, options: NodeRunOptions) {
    this.#node = node;
    this.#options = options;
  }

  async run(): Promise<NodeRunResult> {
    const { tests, expected, agent } = this.#options;
    const first = await this.#runAll(tests, "");
    const lost = first.filter((test) => !passed(test) && expected.has(test.name)).map(({ name }) => name);
    const again = await this.#runAll(
      tests.filter(({ name }) => lost.includes(name)),
      "-again",
    );
    const report: Report = {
      agent,
      environment: await this.#environment(),
      date: new Date().toISOString().slice(0, 10),
      runs: 1,
      versions: await this.#versions(),
      wallSeconds: this.#wallSeconds,
      tests: mergeOutcomes(first, again),
    };
    return { report, problems: this.#problems };
  }

  async #runAll(tests: readonly TreeTest[], suffix: string): Promise<readonly TestOutcome[]> {
    const serial = tests.filter(isSerial);
    const parallel = tests.filter((test) => !isSerial(test));
    return [
      ...(await this.#part(`parallel${suffix}`, parallel, Math.min(this.#options.procs, parallel.length))),
      ...(await this.#part(`serial${suffix}`, serial, 1)),
    ];
  }

  async #part(name: string, tests: readonly TreeTest[], procs: number): Promise<readonly TestOutcome[]> {
    if (tests.length === 0) return [];
    const { directory, flags, signal } = this.#options;
    const sinceMs = performance.now();
    const over = new AbortController();
    const run: SuiteRun = { name, tests, flags, procs, directory, onLine: (line) => this.#onLine(name, line) };
    const info = this.#lookAtNode(run, over.signal);
    try {
      const report = await runSuite(this.#node, run, signal);
      this.#problems.push(...suiteProblems(report).map((problem) => `the ${name} tests: ${problem}`));
      await this.#saveFailures(report, run);
      await removeLeftFiles(report);
      return readGinkgoReport(report);
    } finally {
      over.abort();
      await info;
      this.#wallSeconds[name] = Math.round((performance.now() - sinceMs) / 1000);
    }
  }

  #onLine(name: string, line: string): void {
    const ended = this.#progress.note(name, line);
    if (ended?.passed === false) this.#options.say(`FAILED ${ended.test}`);
    this.#options.sayProgress(this.#progress.line());
  }

  /** Without a kubelet there is no log of it, and the run's problems say why. */
  async #saveFailures(report: unknown, run: SuiteRun): Promise<void> {
    const { cluster, node } = this.#node;
    const logs = {
      runtime: cluster.component(`containerd@${node.name}`).logFile,
      agent: join(reportDirectory(run), "kubelet.log"),
      node: node.directory,
    };
    await saveFailures(report, join(this.#options.directory, "failures"), logs).catch((error: unknown) => {
      this.#problems.push(`evidence of the ${run.name} tests is incomplete: ${errorText(error)}`);
    });
  }

  /** Reads the Node object of the run, which is gone with the run's API server. */
  async #lookAtNode(run: SuiteRun, over: AbortSignal): Promise<void> {
    const kubectl = [this.#node.parts.path("kubectl"), `--kubeconfig=${kubeconfigOf(this.#node, run)}`];
    while (this.#nodeInfo === undefined && !over.aborted) {
      const { code, stdout } = await this.#node.node.run(...kubectl, "get", "nodes", "-o", "json");
      if (code === 0) {
        const { items } = JSON.parse(stdout) as {
          readonly items: readonly { readonly status: { readonly nodeInfo: Readonly<Record<string, string>> } }[];
        };
        this.#nodeInfo = items[0]?.status.nodeInfo;
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  async #environment(): Promise<RunEnvironment> {
    const { stdout } = await this.#node.node.run("stat", "--file-system", "--format=%T", "/sys/fs/cgroup");
    const info = this.#nodeInfo ?? {};
    return {
      commit: this.#commit,
      platform: `${info["operatingSystem"] ?? "unknown"}/${info["architecture"] ?? "unknown"}`,
      cgroupVersion: stdout.trim() === "cgroup2fs" ? "v2" : "v1",
      cgroupDriver: CGROUP_DRIVER,
      nodes: 1,
    };
  }

  async #versions(): Promise<Readonly<Record<string, string>>> {
    const { parts } = this.#node;
    const of = async (program: "kubectl" | "runc", ...args: readonly string[]) =>
      /v?\d+\.\d+\.\d+/.exec(await command(parts.path(program), args))?.[0] ?? "unknown";
    const info = this.#nodeInfo ?? {};
    return {
      kubernetes: await of("kubectl", "version", "--client"),
      kubelet: info["kubeletVersion"] ?? "unknown",
      runtime: info["containerRuntimeVersion"] ?? "unknown",
      runc: await of("runc", "--version"),
      kernel: info["kernelVersion"] ?? "unknown",
    };
  }
}

const LOOK_EVERY_MS = 2_000;

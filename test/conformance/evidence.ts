/**
 * Collects what a failing test leaves behind, in one directory, so that the cause can be read instead of guessed: its
 * pods, its events, and what the agent, the runtime and the journal wrote about them. Pods and events are queried as
 * soon as the test fails; the rest is extracted from the logs once, at the end.
 */
import { createReadStream } from "node:fs";
import { appendFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { stringify } from "yaml";
import type { Cluster, ClusterNode } from "../cluster/cluster.ts";
import type { Audit, TestTrace } from "./audit.ts";

const TOKEN = /[a-z0-9]+(?:-[a-z0-9]+)*/g;
/** The ID of a container or sandbox, or the UID of a pod. */
const ID = /^(?:[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const NAME_CHARS = 120;

/** A test's name as a directory name. */
const directoryName = (test: string): string =>
  test
    .replaceAll(/[^A-Za-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, NAME_CHARS);

export class Evidence {
  readonly #cluster: Cluster;
  readonly #audit: Audit;
  readonly #directory: string;
  /** The names and IDs of namespaces, pods, sandboxes and containers → the directory of their test. */
  readonly #owners = new Map<string, string>();

  constructor(cluster: Cluster, audit: Audit, directory: string) {
    this.#cluster = cluster;
    this.#audit = audit;
    this.#directory = directory;
  }

  /**
   * Saves the evidence of a test that has just failed, then deletes its namespaces, which were kept for this purpose.
   */
  async take(test: string): Promise<void> {
    const trace = this.#audit.of(test);
    const directory = join(this.#directory, directoryName(test));
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "test.txt"), `${test}\n${described(trace)}`);
    if (trace === undefined) return;
    await writeFile(join(directory, "pods-as-asked.yaml"), stringify(trace.pods));
    for (const namespace of trace.namespaces) {
      this.#owners.set(namespace, directory);
      for (const kind of ["pods", "events"]) {
        const found = await this.#cluster.kubectl("get", kind, `--namespace=${namespace}`, "-o", "yaml");
        await appendFile(join(directory, `${kind}.yaml`), `# namespace ${namespace}\n${found}---\n`);
        if (kind === "pods") this.#learn(found, directory);
      }
      await this.#cluster.kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false");
    }
  }

  /** IDs that occur in the test's own text belong to the test too. */
  #learn(text: string, directory: string): void {
    for (const [token] of text.matchAll(TOKEN)) {
      if (ID.test(token) && !this.#owners.has(token)) this.#owners.set(token, directory);
    }
  }

  /** Extracts the lines about failed tests from the logs of the whole run. */
  async pickLogs(): Promise<void> {
    if (this.#owners.size === 0) return;
    for (const node of this.#cluster.nodes) await this.#pickLogsOf(node);
  }

  async #pickLogsOf(node: ClusterNode): Promise<void> {
    const log = (name: string) => this.#cluster.component(`${name}@${node.name}`).logFile;
    await this.#pick(log("containerd"), "cri.log", true);
    await this.#pick(log("kubelet"), "agent.log", false);
    const journal = join(node.directory, "lib", "kubelet", "deckhand", "journal");
    const segments = await readdir(journal).catch((): string[] => []); // The Go kubelet has none.
    for (const segment of segments.toSorted()) await this.#pick(join(journal, segment), "journal.log", false);
  }

  async #pick(file: string, as: string, learning: boolean): Promise<void> {
    const picked = new Map<string, string[]>();
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      const directories = new Set<string>();
      for (const [token] of line.matchAll(TOKEN)) {
        const directory = this.#owners.get(token);
        if (directory !== undefined) directories.add(directory);
      }
      for (const directory of directories) {
        const lines = picked.get(directory) ?? [];
        lines.push(line);
        picked.set(directory, lines);
        if (learning && directories.size === 1) this.#learn(line, directory);
      }
    }
    for (const [directory, lines] of picked) await appendFile(join(directory, as), `${lines.join("\n")}\n`);
  }
}

function described(trace: TestTrace | undefined): string {
  if (trace === undefined) return "it asked nothing of the API server under its own name\n";
  const at = (ms: number) => new Date(ms).toISOString();
  return [
    `from ${at(trace.firstSeenMs)} to ${at(trace.lastSeenMs)}`,
    `namespaces: ${[...trace.namespaces].join(", ")}`,
    `waits for: ${[...trace.waitsFor].join(", ") || "nothing that was rejected"}`,
    "",
  ].join("\n");
}

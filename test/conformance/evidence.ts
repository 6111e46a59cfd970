/**
 * What a failing test leaves behind, in one folder, so that the cause is read and not guessed: its pods, its events, and what the agent, the
 * runtime and the journal wrote about them. The first two are asked for as soon as it fails, the rest is picked from the logs once, at the end.
 */
import { createReadStream } from "node:fs";
import { appendFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { stringify } from "yaml";
import type { Cluster, ClusterNode } from "../cluster/cluster.ts";
import type { Audit, TestTrace } from "./audit.ts";

const TOKEN = /[a-z0-9]+(?:-[a-z0-9]+)*/g;
/** A container or sandbox, or a pod. */
const ID = /^(?:[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const NAME_CHARS = 120;

/** A test's name as one of a folder. */
const folderName = (test: string): string =>
  test
    .replaceAll(/[^A-Za-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, NAME_CHARS);

export class Evidence {
  readonly #cluster: Cluster;
  readonly #audit: Audit;
  readonly #folder: string;
  /** Of namespaces, pods, sandboxes and containers → the folder of the test they were of. */
  readonly #owners = new Map<string, string>();

  constructor(cluster: Cluster, audit: Audit, folder: string) {
    this.#cluster = cluster;
    this.#audit = audit;
    this.#folder = folder;
  }

  /** Notes what there is of a test that has just failed, and then deletes its namespaces, which were left for us. */
  async take(test: string): Promise<void> {
    const trace = this.#audit.of(test);
    const folder = join(this.#folder, folderName(test));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "test.txt"), `${test}\n${described(trace)}`);
    if (trace === undefined) return;
    await writeFile(join(folder, "pods-as-asked.yaml"), stringify(trace.pods));
    for (const namespace of trace.namespaces) {
      this.#owners.set(namespace, folder);
      for (const kind of ["pods", "events"]) {
        const found = await this.#cluster.kubectl("get", kind, `--namespace=${namespace}`, "-o", "yaml");
        await appendFile(join(folder, `${kind}.yaml`), `# namespace ${namespace}\n${found}---\n`);
        if (kind === "pods") this.#learn(found, folder);
      }
      await this.#cluster.kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false");
    }
  }

  /** Ids that stand with what is a test's own are its own too. */
  #learn(text: string, folder: string): void {
    for (const [token] of text.matchAll(TOKEN)) {
      if (ID.test(token) && !this.#owners.has(token)) this.#owners.set(token, folder);
    }
  }

  /** Picks the lines about failed tests from the logs of the whole run. */
  async pickLogs(): Promise<void> {
    if (this.#owners.size === 0) return;
    for (const node of this.#cluster.nodes) await this.#pickLogsOf(node);
  }

  async #pickLogsOf(node: ClusterNode): Promise<void> {
    const log = (name: string) => this.#cluster.component(`${name}@${node.name}`).logFile;
    await this.#pick(log("containerd"), "cri.log", true);
    await this.#pick(log("kubelet"), "agent.log", false);
    const journal = join(node.folder, "lib", "kubelet", "deckhand", "journal");
    const segments = await readdir(journal).catch((): string[] => []); // The Go kubelet has none.
    for (const segment of segments.toSorted()) await this.#pick(join(journal, segment), "journal.log", false);
  }

  async #pick(file: string, as: string, learning: boolean): Promise<void> {
    const picked = new Map<string, string[]>();
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      const folders = new Set<string>();
      for (const [token] of line.matchAll(TOKEN)) {
        const folder = this.#owners.get(token);
        if (folder !== undefined) folders.add(folder);
      }
      for (const folder of folders) {
        const lines = picked.get(folder) ?? [];
        lines.push(line);
        picked.set(folder, lines);
        if (learning && folders.size === 1) this.#learn(line, folder);
      }
    }
    for (const [folder, lines] of picked) await appendFile(join(folder, as), `${lines.join("\n")}\n`);
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

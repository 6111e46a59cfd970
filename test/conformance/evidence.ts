/**
 * Collects what a failing test leaves behind, in one directory, so that the cause can be read instead of guessed: its
 * pods, its events, and what the agent, the runtime and the journal wrote about them. Pods and events are queried as
 * soon as the test fails; the rest is extracted from the logs once, at the end.
 */
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Cluster } from "../cluster/cluster.ts";
import type { Audit, TestTrace } from "./audit.ts";
import { directoryName, PickedLogs } from "./picked-logs.ts";

export class Evidence {
  readonly #cluster: Cluster;
  readonly #audit: Audit;
  readonly #directory: string;
  readonly #logs = new PickedLogs();

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
      this.#logs.own(namespace, directory);
      for (const kind of ["pods", "events"]) {
        const found = await this.#cluster.kubectl("get", kind, `--namespace=${namespace}`, "-o", "yaml");
        await appendFile(join(directory, `${kind}.yaml`), `# namespace ${namespace}\n${found}---\n`);
        if (kind === "pods") this.#logs.learn(found, directory);
      }
      await this.#cluster.kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false");
    }
  }

  /** Extracts the lines about failed tests from the logs of the whole run. */
  async pickLogs(): Promise<void> {
    for (const node of this.#cluster.nodes) {
      const log = (name: string) => this.#cluster.component(`${name}@${node.name}`).logFile;
      await this.#logs.pick({ runtime: log("containerd"), agent: log("kubelet"), node: node.directory });
    }
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

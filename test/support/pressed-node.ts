/** What is read of a node under pressure: its stats, metrics, images, condition and events. */
import assert from "node:assert/strict";
import type { Event, Node, NodeCondition } from "../../src/api/gen/core-v1.ts";
import type { PodStats, Summary } from "../../src/domain/stats/summary-shape.ts";
import { connectCri } from "../../src/wire/cri/client.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import type { Cluster, ClusterNode } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { samplesByLabel } from "./evictions.ts";

const MEASURED_MS = 90_000;
const CONDITION_MS = 60_000;
const forever = new AbortController().signal;

/** The events by which an agent reports pressure. */
const OF_PRESSURE = /^(?:EvictionThresholdMet|NodeHas\w*(?:Disk|PID)\w*)$/;

export class PressedNode {
  readonly #cluster: Cluster;
  readonly #node: ClusterNode;

  constructor(cluster: Cluster, node: ClusterNode) {
    this.#cluster = cluster;
    this.#node = node;
  }

  async summary(): Promise<Summary> {
    return JSON.parse(await this.#get("stats/summary")) as Summary;
  }

  /** Waits until the stats of these pods are as expected, so that the pods can be ranked. */
  async measured(expected: Readonly<Record<string, (stats: PodStats) => boolean>>): Promise<void> {
    await waitUntil(
      `${Object.keys(expected).join()} to be measured`,
      MEASURED_MS,
      async () => {
        const { pods } = await this.summary();
        return Object.entries(expected).every(([name, is]) => {
          const stats = pods.find(({ podRef }) => podRef.name === name);
          return stats !== undefined && is(stats);
        });
      },
      500,
    );
  }

  /** `kubelet_evictions` by what was short; which of a file system's names is counted varies in the Go kubelet. */
  async evictionsCounted(): Promise<Readonly<Record<string, number>>> {
    const counted = samplesByLabel(await this.#get("metrics"), "kubelet_evictions");
    const sums: Record<string, number> = {};
    for (const [signal, value] of Object.entries(counted)) {
      const what = signal.replace(/^containerfs\./, "nodefs.");
      sums[what] = (sums[what] ?? 0) + value;
    }
    return sums;
  }

  async imagesCollected(): Promise<Readonly<Record<string, number>>> {
    return samplesByLabel(await this.#get("metrics"), "kubelet_image_garbage_collected_total");
  }

  /** The names of the images in the runtime. */
  async images(): Promise<readonly string[]> {
    const cri = connectCri(
      { endpoint: this.#node.criEndpoint, onMalformed: (detail) => assert.fail(detail) },
      hostClock,
    );
    try {
      return (await cri.images.listImages({}, forever)).flatMap(({ tags }) => tags).toSorted();
    } finally {
      cri.close();
    }
  }

  /** Waits until the condition has the status. */
  async condition(type: string, status: "True" | "False"): Promise<object> {
    let found: NodeCondition | undefined;
    await waitUntil(`${this.#node.name} to have ${type}=${status}`, CONDITION_MS, async () => {
      const node = JSON.parse(await this.#cluster.kubectl("get", "node", this.#node.name, "-o", "json")) as Node;
      found = node.status?.conditions?.find((condition) => condition.type === type);
      return found?.status === status;
    });
    return { status, reason: found?.reason, message: found?.message };
  }

  async events(): Promise<readonly string[]> {
    const selector = `--field-selector=involvedObject.kind=Node,involvedObject.name=${this.#node.name}`;
    const text = await this.#cluster.kubectl("get", "events", "--all-namespaces", selector, "-o", "json");
    const { items } = JSON.parse(text) as { readonly items: readonly Event[] };
    const lines = items
      .filter(({ reason = "", source }) => source?.component === "kubelet" && OF_PRESSURE.test(reason))
      .map(({ type, reason, message = "" }) => `${type} ${reason} ${message.replaceAll(this.#node.name, "NODE")}`);
    return [...new Set(lines)].toSorted();
  }

  #get(path: string): Promise<string> {
    return this.#cluster.kubectl("get", "--raw", `/api/v1/nodes/${this.#node.name}/proxy/${path}`);
  }
}

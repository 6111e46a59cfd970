/** Brings one node into a setup's shortage, and observes what its agent does until the shortage has passed. */
import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Event, Node, Pod } from "../../../../src/api/gen/core-v1.ts";
import { coreEvents, nodes } from "../../../../src/api/resources.ts";
import type { Summary } from "../../../../src/domain/stats/summary-shape.ts";
import type { Cluster, ClusterNode } from "../../../cluster/cluster.ts";
import { pause, waitUntil } from "../../../cluster/wait.ts";
import { ask, figuresOf, scrape } from "../../../integration/node-metrics/scrape.ts";
import { type ClusterPods, conditionOf, hasFailedWhole, isRunning, podOn } from "../../../support/cluster-pods.ts";
import { withoutSizes } from "../../../support/evictions.ts";
import { type PodPlan, type Setup, SIGNAL_DIRECTORY, waitingForSignal } from "./plan.ts";

const forever = new AbortController().signal;
const STARTED_MS = 120_000;
const MEASURED_MS = 120_000;
/** The Go kubelet measures every ten seconds, and publishes a condition with its next status. */
const REACTION_MS = 90_000;
/** Longer than one interval of the Go kubelet: whoever would be evicted next is evicted in this time. */
const QUIET_MS = 15_000;

/** What an agent did, without sizes, times and names of its node. */
export interface Outcome {
  /** In the order of their evictions. */
  readonly evicted: readonly string[];
  readonly pods: Readonly<Record<string, unknown>>;
  readonly condition: unknown;
  /** Events of the node about the shortage. */
  readonly events: readonly string[];
  /** By signal. */
  readonly counted: Readonly<Record<string, number>>;
}

export interface Shortage {
  readonly condition: "MemoryPressure" | "PIDPressure";
  readonly reasons: readonly string[];
}

export const MEMORY: Shortage = {
  condition: "MemoryPressure",
  reasons: ["EvictionThresholdMet", "NodeHasInsufficientMemory"],
};

export const PROCESS_IDS: Shortage = {
  condition: "PIDPressure",
  reasons: ["EvictionThresholdMet", "NodeHasInsufficientPID"],
};

/** Between the grace period of a hard threshold and evictionMaxPodGracePeriod of the soft ones here. */
const LONG_END_MS = 6_000;

export class NodeUnderPressure {
  readonly #cluster: Cluster;
  readonly #pods: ClusterPods;
  readonly #node: ClusterNode;
  readonly #shortage: Shortage;

  constructor(cluster: Cluster, pods: ClusterPods, node: ClusterNode, shortage: Shortage) {
    this.#cluster = cluster;
    this.#pods = pods;
    this.#node = node;
    this.#shortage = shortage;
  }

  /** Leaves nothing of the setup behind, and the node without the condition. */
  async run(setup: Setup): Promise<Outcome> {
    try {
      return await this.#outcomeOf(setup);
    } finally {
      await this.#remove(setup);
    }
  }

  async #outcomeOf(setup: Setup): Promise<Outcome> {
    // The processes of another node's setup count on this node, too.
    await this.#conditionOnce("False");
    const sinceMs = Date.now();
    const before = await this.#counted();
    await this.#node.run("mkdir", "-p", SIGNAL_DIRECTORY);
    const plans = Object.entries(setup.pods);
    for (const [name, plan] of plans) {
      await this.#create(setup, name, name === setup.burst ? waitingForSignal(plan, setup.name) : plan);
    }
    for (const [name, plan] of plans) await this.#started(this.#nameOf(setup, name), plan);
    await this.#measured(setup);
    await writeFile(this.#node.inside(join(SIGNAL_DIRECTORY, setup.name)), "");
    const condition = await this.#conditionOnce("True");
    for (const name of setup.victims) {
      await this.#pods.first(this.#nameOf(setup, name), "was evicted", hasFailedWhole, REACTION_MS);
    }
    const late = await this.#late(setup);
    if (setup.victims.length === 0) await pause(QUIET_MS);
    else await this.#conditionOnce("False");
    return {
      evicted: this.#evictedOf(setup),
      pods: { ...(await this.#observed(setup, Object.keys(setup.pods))), ...late },
      condition,
      events: await this.#events(sinceMs),
      counted: difference(before, await this.#counted()),
    };
  }

  #nameOf = ({ name: setup }: Setup, pod: string): string => `${setup}-${pod}-${this.#node.name}`;

  #manifestOf = (setup: Setup, pod: string): string =>
    join(this.#node.directory, "manifests", `${setup.name}-${pod}.json`);

  async #create(setup: Setup, name: string, { spec, isStatic }: PodPlan): Promise<void> {
    if (isStatic !== true) {
      await this.#pods.create(podOn(this.#node.name, this.#nameOf(setup, name), spec));
      return;
    }
    const { metadata, ...pod } = podOn(undefined, `${setup.name}-${name}`, spec);
    await mkdir(join(this.#node.directory, "manifests"), { recursive: true });
    const text = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, ...pod });
    await writeFile(this.#manifestOf(setup, name), text);
  }

  async #started(name: string, { isDone }: PodPlan): Promise<void> {
    if (isDone === true) await this.#pods.first(name, "succeeded", hasSucceeded, STARTED_MS);
    else await this.#pods.running(name, STARTED_MS);
  }

  /** The agent measures in all pods but the burst what they hold, and knows the burst: a pod without stats goes first. */
  async #measured(setup: Setup): Promise<void> {
    const isMeasured = async () => {
      const { body } = await ask(this.#cluster, this.#node, "/stats/summary");
      const { pods } = JSON.parse(body.toString()) as Pick<Summary, "pods">;
      return Object.entries(setup.pods).every(([name, { holdsBytes, holdsProcesses = 0, isDone }]) => {
        const stats = pods.find(({ podRef }) => podRef.name === this.#nameOf(setup, name));
        const [bytes, processes] = name === setup.burst ? [0, 0] : [holdsBytes, holdsProcesses];
        const { memory, process_stats: counted } = stats ?? {};
        return isDone === true || ((memory?.workingSetBytes ?? 0) > bytes && (counted?.process_count ?? 0) > processes);
      });
    };
    await waitUntil(`${this.#node.name} to measure the pods of ${setup.name}`, MEASURED_MS, isMeasured, 1_000);
  }

  async #conditionOnce(status: "True" | "False"): Promise<unknown> {
    const { condition: type } = this.#shortage;
    let found: unknown;
    await waitUntil(
      `${this.#node.name}: ${type} ${status}`,
      REACTION_MS,
      async () => {
        const node: Node = await this.#pods.api.get(nodes, { name: this.#node.name }, forever);
        const condition = node.status?.conditions?.find((one) => one.type === type);
        found = { status: condition?.status, reason: condition?.reason, message: condition?.message };
        return condition?.status === status;
      },
      200,
    );
    return found;
  }

  async #late(setup: Setup): Promise<Readonly<Record<string, unknown>>> {
    const names = Object.keys(setup.late ?? {});
    for (const [name, { plan, runs }] of Object.entries(setup.late ?? {})) {
      await this.#create(setup, name, plan);
      await this.#pods.first(this.#nameOf(setup, name), "was decided on", runs ? isRunning : hasFailed, STARTED_MS);
    }
    return this.#observed(setup, names);
  }

  #evictedOf(setup: Setup): readonly string[] {
    const failedMs = (name: string) =>
      this.#pods.versions(this.#nameOf(setup, name)).find(({ pod }) => hasFailed(pod))?.seenWallMs;
    return Object.keys(setup.pods)
      .flatMap((name) => {
        const atMs = failedMs(name);
        return atMs === undefined ? [] : [{ name, atMs }];
      })
      .toSorted((a, b) => a.atMs - b.atMs)
      .map(({ name }) => name);
  }

  async #observed(setup: Setup, names: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const found: Record<string, unknown> = {};
    for (const name of names) {
      const full = this.#nameOf(setup, name);
      const pod = this.#pods.latest(full) ?? assert.fail(`${full} is gone`);
      const { phase, reason, message = "", qosClass } = pod.status ?? {};
      const disruption = conditionOf(pod, "DisruptionTarget");
      const events = (await this.#pods.eventsOf(full)).filter((event) => event.reason === "Evicted");
      found[name] = {
        phase,
        reason,
        qosClass,
        message: neutralText(message),
        conditions: (pod.status?.conditions ?? [])
          .map((one) => `${one.type} ${one.status} ${one.reason ?? ""}`)
          .toSorted(),
        disruption: neutralText(disruption?.message ?? ""),
        events: events.map(neutralEvent),
        endsSlowly: endsSlowly(pod, events),
      };
    }
    return found;
  }

  async #events(sinceMs: number): Promise<readonly string[]> {
    const selection = { fields: `involvedObject.kind=Node,involvedObject.name=${this.#node.name}` };
    const { items } = await this.#pods.api.list(coreEvents, selection, {}, forever);
    // The time of an event has a resolution of one second.
    const isRecent = ({ lastTimestamp = "" }: Event) => Date.parse(lastTimestamp) >= sinceMs - 1_000;
    const own = items.filter((event) => isRecent(event) && this.#shortage.reasons.includes(event.reason ?? ""));
    return [
      ...new Set(
        own.map(({ type, reason, message }) => `${type} ${reason} ${message?.replaceAll(this.#node.name, "NODE")}`),
      ),
    ].toSorted();
  }

  #counted = async (): Promise<ReadonlyMap<string, number>> =>
    figuresOf((await scrape(this.#cluster, this.#node)).get("kubelet_evictions"));

  async #remove(setup: Setup): Promise<void> {
    const late = Object.entries(setup.late ?? {}).map(([name, { plan }]) => [name, plan] as const);
    const plans = [...Object.entries(setup.pods), ...late];
    for (const [name, { isStatic }] of plans) {
      if (isStatic === true) await rm(this.#manifestOf(setup, name), { force: true });
      else await this.#pods.delete(this.#nameOf(setup, name), 0);
    }
    const names = plans.map(([name]) => this.#nameOf(setup, name));
    for (const name of names.filter((each) => this.#pods.versions(each).length > 0)) await this.#pods.gone(name);
    await this.#conditionOnce("False");
  }
}

const hasFailed = ({ status }: Pod): boolean => status?.phase === "Failed";
const hasSucceeded = ({ status }: Pod): boolean => status?.phase === "Succeeded";

/** Whether the pod's containers got more than the grace period of a hard threshold after the eviction. */
function endsSlowly({ status }: Pod, [evicted]: readonly Event[]): boolean {
  const evictedMs = Date.parse(evicted?.firstTimestamp ?? "");
  const endsMs = (status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ""));
  return endsMs.some((endMs) => endMs - evictedMs >= LONG_END_MS);
}

/** Without sizes. The Go kubelet names the containers of a pod in the random order of a map. */
const neutralText = (text: string): readonly string[] =>
  withoutSizes(text)
    .split(/ (?=Container )/)
    .toSorted();

function neutralEvent({ type, message = "", metadata }: Event): unknown {
  const {
    offending_containers: containers,
    offending_containers_usage: amounts,
    ...rest
  } = metadata?.annotations ?? {};
  const counts = [containers?.split(",").toSorted(), amounts?.split(",").length];
  return { type, text: neutralText(message), rest, counts };
}

const difference = (before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>) =>
  Object.fromEntries(
    [...after].map(([key, value]) => [key, value - (before.get(key) ?? 0)] as const).filter(([, value]) => value !== 0),
  );

/**
 * A Deckhand node observed by an `OutsideOracle`: pods are created and deleted through the API server while a test
 * disturbs the node.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { SeededRandom } from "../../sim/seeded-random.ts";
import type { ContainerStateTerminated, Pod, PodSpec, Probe } from "../../src/api/gen/core-v1.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import type { AgentOptions } from "../cluster/node.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { type AuditEntry, auditOf, podDeletions, readyFlips, reportedRunning } from "./audit.ts";
import { OutsideOracle } from "./outside-oracle.ts";
import { rawApi } from "./raw-api.ts";

export const NODE = "n1";
const RUNTIME = `containerd@${NODE}`;
export const NODE_USER = `system:node:${NODE}`;
/** Exits within a second of SIGTERM, so that any longer delay is the kubelet's. */
export const LASTING = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"] as const;

export const lastingPod = (name: string, more: Partial<NonNullable<Pod["spec"]>> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: {
    nodeName: NODE,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 5,
    containers: [{ name: "app", image: BUSYBOX_IMAGE, command: [...LASTING] }],
    ...more,
  },
});

const ALWAYS_WELL: Probe = { exec: { command: ["true"] }, periodSeconds: 1, timeoutSeconds: 10 };
/** Fails when a volume has lost what the container wrote at its start. */
const HAS_ITS_DATA: Probe = {
  exec: { command: ["sh", "-c", "test -e /disk/began && test -e /memory/began && test -s /about/name"] },
  periodSeconds: 1,
  timeoutSeconds: 10,
};

/**
 * In rotation: a single container, a container with volumes that a probe checks, and a container with a sidecar, both
 * with probes.
 */
export function variedPod(name: string): Pod {
  const lasting = (own: string) => ({ name: own, image: BUSYBOX_IMAGE, command: [...LASTING] });
  const [program, flag, script] = LASTING;
  const kinds: readonly Partial<PodSpec>[] = [
    {},
    {
      securityContext: { fsGroup: 1234 },
      volumes: [
        { name: "disk", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
        { name: "about", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
      ],
      containers: [
        {
          ...lasting("app"),
          command: [program, flag, `touch /disk/began /memory/began; ${script}`],
          volumeMounts: ["disk", "memory", "about"].map((volume) => ({ name: volume, mountPath: `/${volume}` })),
          readinessProbe: HAS_ITS_DATA,
        },
      ],
    },
    {
      initContainers: [{ ...lasting("side"), restartPolicy: "Always", startupProbe: ALWAYS_WELL }],
      containers: [{ ...lasting("app"), livenessProbe: ALWAYS_WELL, readinessProbe: ALWAYS_WELL }],
    },
  ];
  return lastingPod(name, kinds[Number(/\d+$/.exec(name)?.[0] ?? 0) % kinds.length]);
}

/** The maximum duration of a container start that a kill interrupts. */
const CUT_MS = 2_000;
/** The exit code of a container whose exit the runtime did not observe. */
const UNKNOWN_EXIT_CODE = 255;

interface LivingPod {
  readonly name: string;
  readonly uid: string;
}

export class SurvivalWorld {
  readonly cluster: Cluster;
  readonly oracle: OutsideOracle;
  readonly #api: Awaited<ReturnType<typeof rawApi>>;
  readonly #wanted = new Map<string, LivingPod>();
  readonly #endedMs = new Map<string, number>();
  /** When the runtime was killed and when it was back. In between nobody ends the containers that it was starting. */
  readonly #runtimeKills: { readonly killMs: number; backMs: number }[] = [];
  /** Ids of containers whose start a kill interrupted, and which the runtime rolled back. */
  readonly cutShort = new Set<string>();
  #made = 0;

  /** Builds the pods that are created from now on. */
  podOf: (name: string) => Pod;

  private constructor(
    cluster: Cluster,
    oracle: OutsideOracle,
    api: Awaited<ReturnType<typeof rawApi>>,
    podOf: (name: string) => Pod,
  ) {
    this.podOf = podOf;
    this.cluster = cluster;
    this.oracle = oracle;
    this.#api = api;
  }

  static async start(podOf: (name: string) => Pod = lastingPod, options: AgentOptions = {}): Promise<SurvivalWorld> {
    const cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand", options }] });
    try {
      return new SurvivalWorld(cluster, await OutsideOracle.start(cluster, NODE), await rawApi(cluster), podOf);
    } catch (error) {
      await cluster.down();
      throw error;
    }
  }

  async down(): Promise<void> {
    this.oracle.stop();
    await this.cluster.down();
  }

  get wanted(): readonly LivingPod[] {
    return [...this.#wanted.values()];
  }

  async create(): Promise<LivingPod> {
    this.#made += 1;
    const { status, body } = await this.#api(
      "POST",
      "/api/v1/namespaces/default/pods",
      this.podOf(`churn-${this.#made}`),
    );
    assert.equal(status, 201, JSON.stringify(body));
    const { name = "", uid = "" } = (body as Pod).metadata ?? {};
    this.#wanted.set(uid, { name, uid });
    return { name, uid };
  }

  /** Deletes the pod from the API server at once, whatever the node reports. */
  forceDelete(pod: LivingPod): Promise<void> {
    return this.delete(pod, "?gracePeriodSeconds=0");
  }

  async delete({ name, uid }: LivingPod, query = ""): Promise<void> {
    this.oracle.mayEnd(uid);
    this.#endedMs.set(name, Date.now());
    this.#wanted.delete(uid);
    const { status, body } = await this.#api("DELETE", `/api/v1/namespaces/default/pods/${name}${query}`);
    assert.ok(status === 200 || status === 202, JSON.stringify(body));
  }

  async pods(): Promise<readonly Pod[]> {
    const { body } = await this.#api("GET", "/api/v1/namespaces/default/pods");
    return (body as { readonly items: readonly Pod[] }).items;
  }

  /** Deletes one pod and creates another every second, until `done`. */
  async churn(random: SeededRandom, done: AbortSignal): Promise<number> {
    let changes = 0;
    while (!done.aborted) {
      const victim = this.wanted[Math.floor(random.fraction() * this.wanted.length)];
      if (victim !== undefined) await this.delete(victim);
      await this.create();
      changes += 1;
      await pause(1_000);
    }
    return changes;
  }

  /**
   * Waits until every wanted pod is Ready and runs, and every other pod is gone from the API server and from the
   * machine.
   */
  async settled(limitMs = 120_000): Promise<void> {
    const done = async () => {
      const trouble = await this.#unsettled();
      if (trouble !== undefined) throw new Error(trouble);
      return true;
    };
    try {
      await waitUntil("every wanted pod to be Ready and every other to be gone", limitMs, done, 500);
    } catch (error) {
      const log = (await readFile(this.cluster.component(`kubelet@${NODE}`).logFile, "utf8")).split("\n");
      throw new Error(`not settled; the end of the agent's log:\n${log.slice(-40).join("\n")}`, { cause: error });
    }
  }

  async #unsettled(): Promise<string | undefined> {
    const living = this.oracle.living;
    const listed = new Map((await this.pods()).map((pod) => [pod.metadata?.uid ?? "", pod]));
    for (const { uid, name } of this.wanted) {
      const ready = listed.get(uid)?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
      if (ready !== "True") return `${name} is not Ready: ${JSON.stringify(listed.get(uid)?.status)}`;
      if (!living.has(uid)) return `${name} does not run`;
    }
    for (const [uid, pod] of listed) if (!this.#wanted.has(uid)) return `${pod.metadata?.name} is still listed`;
    for (const uid of living) if (!this.#wanted.has(uid)) return `${uid} still runs`;
    return undefined;
  }

  async kill(component: string): Promise<void> {
    if (component === RUNTIME) this.#runtimeKills.push({ killMs: Date.now(), backMs: Number.POSITIVE_INFINITY });
    await this.cluster.component(component).kill();
  }

  async restart(component: string): Promise<void> {
    await this.cluster.component(component).restart();
    const last = this.#runtimeKills.at(-1);
    if (component === RUNTIME && last !== undefined) last.backMs = Date.now();
  }

  /**
   * Excuses containers whose start was interrupted. When the client of a start dies, the runtime rolls the start back
   * and logs it. A runtime that is itself killed cannot; then the container's whole life lies around the kill. Neither
   * kind was ever reported as running.
   */
  async #excuseCutShort(entries: readonly AuditEntry[]): Promise<(ended: ContainerStateTerminated) => boolean> {
    const reported = reportedRunning(entries);
    const log = await readFile(this.cluster.component(RUNTIME).logFile, "utf8");
    const failed = /(StartContainer|RunPodSandbox) for .* failed.*cancell?ed/;
    const takenBack = log.split("\n").filter((line) => failed.test(line));
    for (const { id, alive, firstSeenMs, lastAliveMs } of this.oracle.containers) {
      const around = this.#runtimeKills.some(
        ({ killMs, backMs }) => firstSeenMs > killMs - CUT_MS && lastAliveMs < backMs + CUT_MS,
      );
      if (alive || reported.has(id) || !(around || takenBack.some((line) => line.includes(id)))) continue;
      this.oracle.hasCause(id);
      this.cutShort.add(id);
    }
    const seen = new Set(this.oracle.containers.map(({ id }) => id));
    const inKill = (at: string | undefined) =>
      this.#runtimeKills.some(
        ({ killMs, backMs }) => Date.parse(at ?? "") > killMs - CUT_MS && Date.parse(at ?? "") < backMs + CUT_MS,
      );
    return ({ containerID, exitCode, finishedAt }) => {
      const id = containerID?.replace(/^.*:\/\//, "") ?? "";
      // Some were rolled back before their program ran at all. containerd knows no exit code for those that its own
      // death interrupted.
      const neverRan = !seen.has(id) && !reported.has(id) && exitCode === UNKNOWN_EXIT_CODE && inKill(finishedAt);
      return this.cutShort.has(id) || takenBack.some((line) => line.includes(id)) || neverRan;
    };
  }

  /** Violations by kind; all lists must be empty, whatever happened. */
  async faults(): Promise<Readonly<Record<string, readonly string[]>>> {
    const entries = await auditOf(this.cluster, NODE_USER);
    const wasCutShort = await this.#excuseCutShort(entries);
    const restartCounts = (await this.pods()).flatMap(({ metadata, status }) =>
      (status?.containerStatuses ?? [])
        .filter(({ restartCount }) => restartCount > 0)
        .filter(({ lastState }) => lastState?.terminated === undefined || !wasCutShort(lastState.terminated))
        .map(
          ({ name, restartCount, lastState }) =>
            `${metadata?.name}/${name}: ${restartCount} ${JSON.stringify(lastState)}`,
        ),
    );
    return {
      ...this.oracle.verdict(),
      flips: readyFlips(entries, (name) => this.#endedMs.get(name)),
      restartCounts,
      deletedWhileAlive: podDeletions(entries)
        .filter(({ uid, atMs }) =>
          [...this.oracle.containersOf(uid), ...this.oracle.sandboxesOf(uid)].some(
            ({ lastAliveMs }) => lastAliveMs > atMs,
          ),
        )
        .map(({ uid, name }) => `${name} ${uid}`),
    };
  }
}

export const NO_FAULTS = {
  doubled: [],
  lost: [],
  restarted: [],
  flips: [],
  restartCounts: [],
  deletedWhileAlive: [],
} as const;

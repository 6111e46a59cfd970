/** Creates and deletes pods of a test's cluster, and follows them with one watch that keeps every version. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Event, Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import { coreEvents, pods } from "../../src/api/resources.ts";
import { isNotFound } from "../../src/ports/api-error.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { hostRandom } from "../../src/wire/host/random.ts";
import { createKubeApi, type KubeApi } from "../../src/wire/kube-api/client.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";

export const BUSYBOX = "registry.k8s.io/e2e-test-images/busybox:1.37.0-1";
const NAMESPACE = "default";
const forever = new AbortController().signal;

export interface PodVersion {
  readonly kind: "added" | "modified" | "deleted";
  readonly pod: Pod;
  readonly seenWallMs: number;
}

/** A pod bound to `node`, if one is given, without the volume of a service account token. */
export const podOn = (node: string | undefined, name: string, spec: Partial<PodSpec>): Pod => ({
  metadata: { name, namespace: NAMESPACE },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [],
    ...(node === undefined ? {} : { nodeName: node }),
    ...spec,
  },
});

export const sh = (script: string, name = "main") => ({ name, image: BUSYBOX, command: ["sh", "-c", script] });

/** The end of a script: does nothing, and exits at once on SIGTERM. */
export const STAY = "trap 'exit 0' TERM; while :; do sleep 1000 & wait; done";
/** Runs until SIGTERM, and then exits at once. */
export const SLEEPER = sh(STAY);
/**
 * A spec with one container that runs the script. It mounts the ConfigMap `settings` at /settings and an emptyDir in
 * memory at /memory.
 */
export const mountingSpec = (script: string): Partial<PodSpec> => ({
  containers: [
    {
      ...sh(script),
      volumeMounts: [
        { name: "settings", mountPath: "/settings" },
        { name: "memory", mountPath: "/memory" },
      ],
    },
  ],
  volumes: [
    { name: "settings", configMap: { name: "settings" } },
    { name: "memory", emptyDir: { medium: "Memory" } },
  ],
});
/** Ignores SIGTERM. */
export const DEAF = sh("trap '' TERM; while :; do sleep 1000 & wait; done");

export class ClusterPods {
  readonly api: KubeApi;
  readonly #versions = new Map<string, PodVersion[]>();
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  private constructor(api: KubeApi) {
    this.api = api;
    this.#watching = this.#watch();
  }

  static async of(cluster: Cluster): Promise<ClusterPods> {
    const { url, caFile, adminCertFile, adminKeyFile } = cluster.api;
    const [ca, certificatePem, keyPem] = await Promise.all(
      [caFile, adminCertFile, adminKeyFile].map((file) => readFile(file, "utf8")),
    );
    assert.ok(ca !== undefined && certificatePem !== undefined && keyPem !== undefined);
    const credentials = { kind: "certificate", certificatePem, keyPem } as const;
    return new ClusterPods(
      createKubeApi({
        requestsPerSecond: 1_000,
        burst: 1_000,
        clock: hostClock,
        random: hostRandom,
        connection: { url, ca, credentials },
      }),
    );
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await this.api.close();
  }

  create(pod: Pod): Promise<Pod> {
    return this.api.create(pods, pod, forever);
  }

  /** Every observed version, oldest first. */
  versions(name: string): readonly PodVersion[] {
    return this.#versions.get(name) ?? [];
  }

  latest(name: string): Pod | undefined {
    const last = this.versions(name).at(-1);
    return last === undefined || last.kind === "deleted" ? undefined : last.pod;
  }

  get names(): readonly string[] {
    return [...this.#versions.keys()].filter((name) => this.latest(name) !== undefined);
  }

  /** The first version, already observed or future, for which `is` returns true. */
  async first(name: string, what: string, is: (pod: Pod) => boolean, limitMs = 60_000): Promise<Pod> {
    let found: Pod | undefined;
    const look = async () => {
      found = this.versions(name).find(({ kind, pod }) => kind !== "deleted" && is(pod))?.pod;
      return found !== undefined;
    };
    try {
      await waitUntil(`${name} ${what}`, limitMs, look, 20);
    } catch (error) {
      throw new Error(`${name} never ${what}: ${JSON.stringify(this.latest(name)?.status)}`, { cause: error });
    }
    return found ?? assert.fail();
  }

  running(name: string, limitMs?: number): Promise<Pod> {
    return this.first(name, "ran", isRunning, limitMs);
  }

  async gone(name: string, limitMs = 60_000): Promise<void> {
    const isGone = async () => this.versions(name).at(-1)?.kind === "deleted";
    await waitUntil(`${name} to be gone`, limitMs, isGone, 20);
  }

  async delete(name: string, gracePeriodSeconds?: number): Promise<void> {
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    try {
      await this.api.delete(pods, { name, namespace: NAMESPACE }, options, forever);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Returns the pod's events from its node's agent; schedulers and controllers emit events for pods too. */
  async eventsOf(name: string): Promise<readonly Event[]> {
    const selection = { namespace: NAMESPACE, fields: `involvedObject.name=${name}` };
    const { items } = await this.api.list(coreEvents, selection, {}, forever);
    return items.filter(({ source }) => source?.component === "kubelet");
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const start = { kind: "initialEvents" } as const;
        const listed = new Set<string>();
        for await (const event of this.api.watch(pods, { namespace: NAMESPACE }, start, signal)) {
          if (event.kind === "bookmark") {
            if (event.initialEventsEnd) this.#noteDeletedBefore(listed);
            continue;
          }
          listed.add(event.object.metadata?.name ?? "");
          this.#note(event.kind, event.object);
        }
      } catch {
        // The API server may be down on purpose; the next watch lists the existing pods again.
        await waitUntil("a moment", 200, async () => signal.aborted).catch(() => undefined);
      }
    }
  }

  /** No event reports pods that were deleted between two watches; the list of the second watch lacks them. */
  #noteDeletedBefore(listed: ReadonlySet<string>): void {
    for (const name of this.names) {
      const pod = this.latest(name);
      if (!listed.has(name) && pod !== undefined) this.#note("deleted", pod);
    }
  }

  #note(kind: PodVersion["kind"], pod: Pod): void {
    const name = pod.metadata?.name ?? "";
    const versions = this.#versions.get(name) ?? [];
    this.#versions.set(name, versions);
    const last = versions.at(-1);
    const isKnown = last?.kind !== "deleted" && last?.pod.metadata?.resourceVersion === pod.metadata?.resourceVersion;
    if (kind === "deleted" || !isKnown) versions.push({ kind, pod, seenWallMs: Date.now() });
  }
}

export const isRunning = ({ status }: Pod): boolean =>
  status?.phase === "Running" && conditionOf({ status }, "Ready")?.status === "True";

export const conditionOf = ({ status }: Pick<Pod, "status">, type: string) =>
  status?.conditions?.find((condition) => condition.type === type);

/**
 * The pod has terminated, and its status says so completely. The Go kubelet composes its status from an earlier one and
 * from whether containers may still run. So it may publish the phase before the sandbox's condition.
 */
export const hasEndedWhole = (pod: Pod): boolean =>
  (pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed") &&
  conditionOf(pod, "PodReadyToStartContainers")?.status !== "True";

/** For a pod that was made to fail: earlier container statuses may still say running. */
export const hasFailedWhole = (pod: Pod): boolean =>
  pod.status?.phase === "Failed" &&
  hasEndedWhole(pod) &&
  (pod.status.containerStatuses ?? []).every(({ state }) => state?.terminated !== undefined);

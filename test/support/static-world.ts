/**
 * A Deckhand node with a directory of static pod manifests, its mirror pods at the API server, and an `OutsideOracle`
 * for its containers.
 */
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Event, Pod } from "../../src/api/gen/core-v1.ts";
import { isReady } from "../../src/domain/node/conditions.ts";
import { CONFIG_HASH } from "../../src/domain/pod/pod-identity.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { waitUntil } from "../cluster/wait.ts";
import { OutsideOracle } from "./outside-oracle.ts";
import { rawApi } from "./raw-api.ts";
import { LASTING, NODE } from "./survival-world.ts";

export interface StaticManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>> & { readonly containers: readonly object[] };
}

/**
 * `edition` is an argument of the container's command too, so that each edition has a different container definition.
 */
export const staticManifest = (name: string, edition = 1, metadata: object = {}): StaticManifest => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "kube-system", labels: { edition: String(edition) }, ...metadata },
  spec: {
    terminationGracePeriodSeconds: 5,
    containers: [{ name: "app", image: BUSYBOX_IMAGE, command: [...LASTING, `edition-${edition}`] }],
  },
});

export class StaticWorld {
  readonly cluster: Cluster;
  readonly oracle: OutsideOracle;
  readonly directory: string;
  readonly #api: Awaited<ReturnType<typeof rawApi>>;

  private constructor(cluster: Cluster, oracle: OutsideOracle, api: Awaited<ReturnType<typeof rawApi>>) {
    this.cluster = cluster;
    this.oracle = oracle;
    this.#api = api;
    this.directory = join(cluster.layout.node(0).directory, "manifests");
  }

  static async start(): Promise<StaticWorld> {
    const cluster = await startCluster({ controlPlane: "api", nodes: [{ agent: "deckhand" }] });
    try {
      const world = new StaticWorld(cluster, await OutsideOracle.start(cluster, NODE), await rawApi(cluster));
      await mkdir(world.directory, { recursive: true });
      return world;
    } catch (error) {
      await cluster.down();
      throw error;
    }
  }

  async down(): Promise<void> {
    this.oracle.stop();
    await this.cluster.down();
  }

  /** Writes a manifest atomically, as a careful operator does. */
  async put(file: string, manifest: StaticManifest): Promise<void> {
    const scratch = join(this.directory, `.${file}.new`);
    await writeFile(scratch, JSON.stringify(manifest));
    await rename(scratch, join(this.directory, file));
  }

  async take(file: string): Promise<void> {
    await rm(join(this.directory, file));
  }

  /** Empties the manifest directory and waits until every static pod and mirror pod is gone. */
  async clear(): Promise<void> {
    for (const name of await readdir(this.directory)) await rm(join(this.directory, name), { recursive: true });
    await waitUntil("no static pod to be left", 60_000, async () => {
      return this.oracle.living.size === 0 && (await this.mirrors()).length === 0;
    });
  }

  async mirrors(): Promise<readonly Pod[]> {
    const { body } = await this.#api("GET", "/api/v1/namespaces/kube-system/pods");
    return (body as { readonly items: readonly Pod[] }).items;
  }

  /** Waits for an event of the static pod. */
  async reported(name: string, reason: string, message: RegExp): Promise<Event> {
    let found: Event | undefined;
    const path = `/api/v1/namespaces/kube-system/events?fieldSelector=involvedObject.name=${name}-${NODE}`;
    await waitUntil(`${name} to have the event ${reason}`, 30_000, async () => {
      const { items } = (await this.#api("GET", path)).body as { readonly items: readonly Event[] };
      found = items.find((event) => event.reason === reason && message.test(event.message ?? ""));
      return found !== undefined;
    });
    if (found === undefined) throw new Error("no event");
    return found;
  }

  async mirror(name: string): Promise<Pod | undefined> {
    return (await this.mirrors()).find(({ metadata }) => metadata?.name === `${name}-${NODE}`);
  }

  async deleteMirror(name: string): Promise<void> {
    await this.#api("DELETE", `/api/v1/namespaces/kube-system/pods/${name}-${NODE}?gracePeriodSeconds=0`);
  }

  /** Waits until the mirror pod satisfies `is`, and returns it. */
  async mirrorThat(name: string, what: string, is: (mirror: Pod) => boolean): Promise<Pod> {
    let found: Pod | undefined;
    await waitUntil(`the mirror of ${name} ${what}`, 60_000, async () => {
      found = await this.mirror(name);
      if (found === undefined || !is(found)) throw new Error(JSON.stringify(found));
      return true;
    });
    if (found === undefined) throw new Error("no mirror");
    return found;
  }

  ready(name: string, edition?: number): Promise<Pod> {
    return this.mirrorThat(name, `to be Ready in edition ${edition}`, ({ metadata, status }) => {
      if (edition !== undefined && metadata?.labels?.["edition"] !== String(edition)) return false;
      return isReady(status?.conditions);
    });
  }
}

/** The UID of the static pod, not of its mirror pod. */
export const staticUid = (mirror: Pod | undefined): string => mirror?.metadata?.annotations?.[CONFIG_HASH] ?? "";

/** The environment of an ApiServer contract suite, and helpers that its cases share. */
import type { ConfigMap, Pod } from "../../../src/api/gen/core-v1.ts";
import type { ApiServer, WatchEvent } from "../../../src/ports/api-server.ts";

export interface ApiWorld {
  readonly api: ApiServer;
  /** A new namespace that admits pods. */
  readonly namespace: () => Promise<string>;
  /** A client with the identity of this node's kubelet. */
  readonly asNode: (name: string) => Promise<ApiServer>;
  /** Discards the server's event history: watches from earlier versions expire. Open watches may break. */
  readonly forgetHistory: () => Promise<void>;
}

/** Never aborted. */
export const forever: AbortSignal = new AbortController().signal;

export const configMap = (namespace: string, name: string, data: Readonly<Record<string, string>> = {}): ConfigMap => ({
  metadata: { namespace, name },
  data,
});

export const pod = (namespace: string, name: string, more: Partial<Pod["spec"]> = {}): Pod => ({
  metadata: { namespace, name, labels: { app: name } },
  spec: { containers: [{ name: "main", image: "busybox" }], ...more },
});

/** Reads `count` events that are not bookmarks, then leaves the loop. */
export async function take<T>(events: AsyncIterable<WatchEvent<T>>, count: number): Promise<readonly WatchEvent<T>[]> {
  const seen: WatchEvent<T>[] = [];
  for await (const event of events) {
    if (event.kind !== "bookmark") seen.push(event);
    if (seen.length === count) break;
  }
  return seen;
}

/** The kind and name of each event, such as "added a"; bookmarks have no name. */
export const brief = (events: readonly WatchEvent<{ readonly metadata?: { readonly name?: string } }>[]) =>
  events.map((event) => (event.kind === "bookmark" ? event.kind : `${event.kind} ${event.object.metadata?.name}`));

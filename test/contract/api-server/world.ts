/** What a suite of the ApiServer port is given, and the small helpers its cases share. */
import type { ConfigMap, Pod } from "../../../src/api/gen/core-v1.ts";
import type { ApiServer, WatchEvent } from "../../../src/ports/api-server.ts";

export interface ApiWorld {
  readonly api: ApiServer;
  /** A new namespace that admits pods. */
  readonly namespace: () => Promise<string>;
  /** A client with the identity of this node's kubelet. */
  readonly asNode: (name: string) => Promise<ApiServer>;
  /** From now on the server cannot tell what happened before. Open watches may break by it. */
  readonly forgetHistory: () => Promise<void>;
}

/** For calls that nobody gives up. */
export const forever: AbortSignal = new AbortController().signal;

export const configMap = (namespace: string, name: string, data: Readonly<Record<string, string>> = {}): ConfigMap => ({
  metadata: { namespace, name },
  data,
});

export const pod = (namespace: string, name: string, more: Partial<Pod["spec"]> = {}): Pod => ({
  metadata: { namespace, name, labels: { app: name } },
  spec: { containers: [{ name: "main", image: "busybox" }], ...more },
});

/** Reads until `count` events that are not bookmarks, and leaves. */
export async function take<T>(events: AsyncIterable<WatchEvent<T>>, count: number): Promise<readonly WatchEvent<T>[]> {
  const seen: WatchEvent<T>[] = [];
  for await (const event of events) {
    if (event.kind !== "bookmark") seen.push(event);
    if (seen.length === count) break;
  }
  return seen;
}

/** "added a": kind and name of each. */
export const brief = (events: readonly WatchEvent<{ readonly metadata?: { readonly name?: string } }>[]) =>
  events.map((event) => (event.kind === "bookmark" ? event.kind : `${event.kind} ${event.object.metadata?.name}`));

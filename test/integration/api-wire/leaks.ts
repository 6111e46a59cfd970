/** Measures, in child processes, what watches cost and what lost connections leave behind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { namespaces } from "../../../src/api/resources.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import { command } from "../../cluster/command.ts";
import { figure } from "../../figures.ts";
import { assertUnreachable, type ClusterOf, clientFor, forever, proxyFor, timed } from "./world.ts";

const RSS_ADDED_MB_MAX = 35;

async function measure<T>(experiment: "watches" | "reconnects", count: number, { api }: Cluster): Promise<T> {
  const child = fileURLToPath(new URL("./leak-child.ts", import.meta.url));
  const connection = [api.url, api.caFile, api.adminCertFile, api.adminKeyFile];
  const output = await command(process.execPath, ["--expose-gc", child, experiment, String(count), ...connection], {
    limitMs: 60_000 + 180 * count,
  });
  return JSON.parse(output) as T;
}

interface WatchCost {
  readonly watches: number;
  readonly sessions: number;
  readonly openMs: number;
  readonly rssBeforeMb: number;
  readonly rssAddedMb: number;
  readonly heapAddedMb: number;
}

interface Leftovers {
  readonly connections: number;
  readonly sessionsOpen: number;
  readonly streamsOpen: number;
  readonly listeners: number;
  readonly heapAddedMb: number;
  readonly resources: Readonly<Record<string, number>>;
  readonly resourcesAfterClose: Readonly<Record<string, number>>;
}

const STREAMS_PER_CONNECTION = 100;

export async function watchesAreCheap(cluster: Cluster, count: number): Promise<void> {
  const cost = await measure<WatchCost>("watches", count, cluster);
  figure("RSS before", Number(cost.rssBeforeMb.toFixed(1)), "MB");
  figure(`RSS added by ${count} watches`, Number(cost.rssAddedMb.toFixed(1)), "MB");
  figure(`heap added by ${count} watches`, Number(cost.heapAddedMb.toFixed(1)), "MB");
  figure(`${count} watches opened in`, cost.openMs, "ms");
  assert.deepEqual([cost.watches, cost.sessions], [count, Math.ceil(count / STREAMS_PER_CONNECTION)]);
  assert.ok(cost.rssAddedMb <= RSS_ADDED_MB_MAX, `${cost.rssAddedMb} MB`);
}

export async function lostConnectionsLeaveNothing(cluster: Cluster, count: number): Promise<void> {
  const left = await measure<Leftovers>("reconnects", count, cluster);
  figure("connections made", left.connections, "connections");
  figure(`heap added by ${count} reconnects`, Number(left.heapAddedMb.toFixed(2)), "MB");
  assert.ok(left.connections >= count, `${left.connections} connections`);
  assert.deepEqual([left.sessionsOpen, left.streamsOpen, left.listeners], [1, 0, 0]);
  // The client's only connection, both halves of it in the proxy and the proxy's listening socket; one ping timer.
  assert.ok((left.resources["TCPSocketWrap"] ?? 0) <= 3, JSON.stringify(left.resources));
  assert.ok((left.resources["Timeout"] ?? 0) <= 1, JSON.stringify(left.resources));
  const { TCPSocketWrap = 0, TCPServerWrap = 0, Timeout = 0 } = left.resourcesAfterClose;
  assert.deepEqual([TCPSocketWrap, TCPServerWrap, Timeout], [0, 0, 0], JSON.stringify(left.resourcesAfterClose));
  assert.ok(left.heapAddedMb < 5, `${left.heapAddedMb} MB of heap`);
}

export function leakCases(cluster: ClusterOf): void {
  void test(`200 watches on one client add at most ${RSS_ADDED_MB_MAX} MB`, () => watchesAreCheap(cluster(), 200));

  void test("1000 lost connections leave no socket, timer, stream or listener behind", () =>
    lostConnectionsLeaveNothing(cluster(), 1000));

  void test("close ends requests, queued requests, watches and connections at once, and fails later requests", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url, requestsPerSecond: 1, burst: 3 });
    const get = () => api.get(namespaces, { name: "default" }, forever);
    await get();
    const watch = timed(async () => {
      for await (const _ of api.watch(namespaces, {}, { kind: "initialEvents" }, forever));
    });
    proxy.now({ toClient: { kind: "silent" } });
    const [sent, queued] = [timed(get), timed(get)];
    await new Promise((resolve) => setTimeout(resolve, 200));
    const { tookMs } = await timed(() => api.close());
    assert.ok(tookMs < 3000, `${tookMs} ms`);
    assertUnreachable((await watch).outcome, { mayHaveHappened: true });
    assertUnreachable((await sent).outcome, { mayHaveHappened: true });
    assertUnreachable((await queued).outcome, { mayHaveHappened: false });
    assert.deepEqual([api.sessionsOpen, api.streamsOpen], [0, 0]);
    assertUnreachable((await timed(get)).outcome, { mayHaveHappened: false });
    await api.close();
  });
}

/** Random network faults: the outcome of a write always states its effect correctly. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { SeededRandom } from "../../../sim/seeded-random.ts";
import { configMaps } from "../../../src/api/resources.ts";
import { ApiUnreachableError } from "../../../src/ports/api-error.ts";
import type { TcpProxy } from "../../cluster/tcp-proxy.ts";
import { configMap } from "../../contract/api-server/world.ts";
import { figure } from "../../figures.ts";
import { seed } from "../../size.ts";
import { newNamespace } from "../api-world.ts";
import { type ClusterOf, clientFor, forever, proxyFor, timed } from "./world.ts";

const LASTS_MS = 12_000;
const LIMIT_MS = 1500;

export function chaosCases(cluster: ClusterOf): void {
  void test("failed writes had no effect, successful ones did, and none outlives its deadline, under random faults", async (t) => {
    const random = new SeededRandom(seed());
    const proxy = await proxyFor(t, cluster());
    const direct = await clientFor(t, cluster());
    const api = await clientFor(t, cluster(), {
      url: proxy.url,
      requestLimitMs: LIMIT_MS,
      connectLimitMs: 500,
      pingEveryMs: 300,
      pingLimitMs: 300,
    });
    const ns = await newNamespace(direct);
    const stop = new AbortController();
    const trouble = makeTrouble(proxy, random, stop.signal);
    const claims = new Map<string, "happened" | "did not" | "unknown">();
    const endMs = performance.now() + LASTS_MS;
    for (let from = 0; performance.now() < endMs; from += 20) {
      const names = Array.from({ length: 20 }, (_, index) => `w${from + index}`);
      await Promise.all(
        names.map(async (name) => {
          const text = "x".repeat(Math.floor(random.fraction() * 20_000));
          const { tookMs, outcome } = await timed(() => api.create(configMaps, configMap(ns, name, { text }), forever));
          assert.ok(tookMs < LIMIT_MS + 1000, `${name} took ${tookMs} ms`);
          if (!(outcome instanceof Error)) claims.set(name, "happened");
          else if (outcome instanceof ApiUnreachableError)
            claims.set(name, outcome.mayHaveHappened ? "unknown" : "did not");
          else throw outcome;
        }),
      );
    }
    stop.abort();
    await trouble;
    const there = new Set(
      (await direct.list(configMaps, { namespace: ns }, {}, forever)).items.map((i) => i.metadata?.name),
    );
    const lies = [...claims].filter(
      ([name, claim]) => claim !== "unknown" && there.has(name) !== (claim === "happened"),
    );
    assert.deepEqual(lies, []);
    const count = (wanted: string) => [...claims.values()].filter((claim) => claim === wanted).length;
    for (const claim of ["happened", "did not", "unknown"]) figure(`writes: ${claim}`, count(claim), "writes");
    for (const claim of ["happened", "did not", "unknown"]) assert.ok(count(claim) > 0, `no write was ${claim}`);
  });
}

/** Cuts the connections, silences them or refuses new ones at random, each for some milliseconds. */
async function makeTrouble(proxy: TcpProxy, random: SeededRandom, signal: AbortSignal): Promise<void> {
  const upTo = (limit: number) => Math.floor(random.fraction() * limit);
  const troubles: readonly (() => void | Promise<void>)[] = [
    () => proxy.cut("reset"),
    () => proxy.cut("end"),
    () => proxy.now({ toClient: { kind: "truncate", afterBytes: upTo(5000), by: "reset" } }),
    () => proxy.now({ toServer: { kind: "truncate", afterBytes: upTo(50_000), by: "end" } }),
    () => proxy.now({ toClient: { kind: "silent" } }),
    () => proxy.now({ toServer: { kind: "silent" } }),
    () => proxy.next({ toServer: { kind: "delay", delayMs: upTo(200) } }),
    async () => {
      await proxy.refuse();
      proxy.cut("reset");
    },
    () => {
      proxy.next({ toClient: { kind: "silent" } });
      proxy.cut("end");
    },
  ];
  while (!signal.aborted) {
    await setTimeout(20 + upTo(150));
    await troubles[upTo(troubles.length)]?.();
    await setTimeout(upTo(300));
    proxy.next({});
    await proxy.listen();
  }
}

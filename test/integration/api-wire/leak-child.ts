/**
 * Measures the memory that watches use, and what lost connections leave behind. Runs in its own process with
 * --expose-gc, so that nothing else affects the measurements. Prints one JSON object. Arguments: the experiment, the
 * count, and the connection's URL and files.
 */
import { getEventListeners } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { configMaps, namespaces } from "../../../src/api/resources.ts";
import { hostClock } from "../../../src/wire/host/clock.ts";
import { hostRandom } from "../../../src/wire/host/random.ts";
import { createKubeApi, type KubeApi } from "../../../src/wire/kube-api/client.ts";
import { TcpProxy } from "../../cluster/tcp-proxy.ts";
import { waitUntil } from "../../cluster/wait.ts";

const [experiment, count = "", url = "", caFile = "", certFile = "", keyFile = ""] = process.argv.slice(2);
const MB = 2 ** 20;
const COUNT = Number(count);

const client = (at: string): KubeApi =>
  createKubeApi({
    clock: hostClock,
    random: hostRandom,
    requestsPerSecond: 10_000,
    burst: 10_000,
    connection: {
      url: at,
      ca: readFileSync(caFile, "utf8"),
      credentials: {
        kind: "certificate",
        certificatePem: readFileSync(certFile, "utf8"),
        keyPem: readFileSync(keyFile, "utf8"),
      },
    },
  });

/** Memory usage after repeated garbage collections. */
async function settled(): Promise<NodeJS.MemoryUsage> {
  for (let round = 0; round < 5; round += 1) {
    globalThis.gc?.();
    await setTimeout(100);
  }
  return process.memoryUsage();
}

function countedResources(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Watches one object, as for a pod's reference to a ConfigMap, and calls `onOpen` when the watch is open. */
async function watchOne(api: KubeApi, name: string, signal: AbortSignal, onOpen: () => void): Promise<void> {
  const selection = { namespace: "default", fields: `metadata.name=${name}` };
  for await (const event of api.watch(configMaps, selection, { kind: "initialEvents" }, signal)) {
    if (event.kind === "bookmark" && event.initialEventsEnd) onOpen();
  }
}

async function watchMemory(): Promise<object> {
  const api = client(url);
  const stop = new AbortController();
  // Load and warm up the code before the first measurement.
  for (let round = 0; round < 20; round += 1) await api.get(namespaces, { name: "default" }, stop.signal);
  const warm = new AbortController();
  await watchOne(api, "warm", warm.signal, () => warm.abort()).catch(() => {});
  const before = await settled();
  const startedMs = performance.now();
  let open = 0;
  const watches = Array.from({ length: COUNT }, (_, index) =>
    watchOne(api, `c${index}`, stop.signal, () => {
      open += 1;
    }),
  );
  const ended = Promise.allSettled(watches);
  await waitUntil("all watches to be open", 30_000, () => Promise.resolve(open === COUNT), 5);
  const openMs = performance.now() - startedMs;
  const after = await settled();
  const { sessionsOpen } = api;
  stop.abort();
  await ended;
  await api.close();
  return {
    watches: open,
    sessions: sessionsOpen,
    openMs: Math.round(openMs),
    rssBeforeMb: before.rss / MB,
    rssAddedMb: (after.rss - before.rss) / MB,
    heapAddedMb: (after.heapUsed - before.heapUsed) / MB,
  };
}

async function reconnects(): Promise<object> {
  const proxy = await TcpProxy.start(url);
  const api = client(proxy.url);
  const life = new AbortController();
  const once = async () => {
    let opened = () => {};
    const open = new Promise<void>((resolve) => {
      opened = resolve;
    });
    const watch = watchOne(api, "c", life.signal, opened).catch(() => {}); // Broken on purpose.
    await open;
    await api.get(namespaces, { name: "default" }, life.signal);
    proxy.cut("reset");
    await watch;
  };
  for (let round = 0; round < 50; round += 1) await once();
  const before = await settled();
  for (let round = 0; round < COUNT; round += 1) await once();
  const after = await settled();
  await api.get(namespaces, { name: "default" }, life.signal);
  const listeners = getEventListeners(life.signal, "abort").length;
  const resources = countedResources();
  const { sessionsOpen, streamsOpen } = api;
  await api.close();
  await proxy.close();
  await setTimeout(100);
  return {
    connections: proxy.accepted,
    sessionsOpen,
    streamsOpen,
    listeners,
    resources,
    heapAddedMb: (after.heapUsed - before.heapUsed) / MB,
    resourcesAfterClose: countedResources(),
  };
}

console.log(JSON.stringify(experiment === "watches" ? await watchMemory() : await reconnects()));

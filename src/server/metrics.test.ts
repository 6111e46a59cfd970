import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders, request as requestOf } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { FakeOwnProcess } from "../../sim/fake-own-process.ts";
import { readExposition } from "../../test/support/exposition.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import type { Family } from "../base/metrics/family.ts";
import { Registry } from "../base/metrics/registry.ts";
import { serverMetrics } from "../domain/metrics/server-metrics.ts";
import { metricsRoutes } from "./metrics.ts";
import { requestMetrics } from "./request-metrics.ts";

/** Serves the routes on their own port, without authentication. */
async function begin(more: readonly (() => Promise<readonly Family[]>)[] = []) {
  const clock = new ManualClock();
  const registry = new Registry();
  const counter = registry.counter({ name: "asked_total", help: "Asked.", labels: [] });
  const parts = { clock, process: new FakeOwnProcess(clock), registry, health: new Registry(), probes: new Registry() };
  const routes = metricsRoutes({ ...parts, more });
  const server = createServer((request, response) => {
    const route = routes.find(({ path }) => path === request.url);
    const asked = { request, parts: {}, query: new URLSearchParams(), signal: new AbortController().signal };
    route?.answer(asked, response).catch(() => response.writeHead(500).end());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    clock,
    counter,
    ask: (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
      ask(port, path, method, headers),
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

function ask(port: number, path: string, method: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const asked = requestOf({ host: "127.0.0.1", port, path, method, headers, agent: false }, (response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => {
      const body = Buffer.concat(chunks);
      resolve({ status: response.statusCode, headers: response.headers, body, text: body.toString() });
    });
  });
  asked.on("error", reject);
  asked.end();
  return promise;
}

const valueOf = (text: string) => readExposition(text).get("asked_total")?.samples[0]?.value;

void describe("agent metrics", () => {
  void test("are collected at most once a second, however many clients request them", async () => {
    let collected = 0;
    using world = await begin([
      async () => {
        collected += 1;
        return [];
      },
    ]);
    const { clock, counter } = world;
    const answers = await Promise.all([1, 2, 3].map(() => world.ask("/metrics")));
    assert.deepEqual([collected, ...answers.map(({ text }) => valueOf(text))], [1, 0, 0, 0]);
    counter.increment();
    assert.equal(valueOf((await world.ask("/metrics")).text), 0);
    await clock.advance(1_000);
    assert.equal(valueOf((await world.ask("/metrics")).text), 1);
    assert.equal(collected, 2);
  });

  void test("[20.13] are gzipped, in OpenMetrics or without a body, as the request says", async () => {
    using world = await begin();
    const plain = await world.ask("/metrics");
    assert.equal(plain.headers["content-encoding"], undefined);
    assert.equal(plain.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
    const packed = await world.ask("/metrics", { "Accept-Encoding": "gzip" });
    assert.equal(packed.headers["content-encoding"], "gzip");
    assert.equal(gunzipSync(packed.body).toString(), plain.text);
    const open = await world.ask("/metrics", { Accept: "application/openmetrics-text" });
    assert.ok(readExposition(open.text, "openMetrics").has("asked"));
    const head = await world.ask("/metrics", {}, "HEAD");
    assert.deepEqual([head.headers["content-length"], head.text], [String(plain.body.byteLength), ""]);
  });

  void test("[20.13] have the start time at /metrics/slis and /metrics/probes, and the process too at /metrics", async () => {
    using world = await begin();
    for (const path of ["/metrics/slis", "/metrics/probes"]) {
      const { text } = await world.ask(path);
      assert.deepEqual([...readExposition(text).keys()], ["process_start_time_seconds"]);
    }
    const names = [...readExposition((await world.ask("/metrics")).text).keys()];
    assert.deepEqual(names, names.toSorted());
    assert.ok(names.includes("process_cpu_seconds_total") && names.includes("nodejs_heap_size_used_bytes"));
  });

  void test("that could not be collected once are collected at the next request", async () => {
    let failures = 1;
    using world = await begin([
      async () => {
        failures -= 1;
        if (failures >= 0) throw new Error("not now");
        return [];
      },
    ]);
    assert.equal((await world.ask("/metrics")).status, 500);
    assert.equal((await world.ask("/metrics")).status, 200);
  });
});

void test("[20.19] requests are counted when they arrive, and timed when they are answered", () => {
  const registry = new Registry();
  const observer = requestMetrics(serverMetrics(registry));
  const labels = { method: "GET", bucket: "pods", serverType: "readwrite", longRunning: false } as const;
  const shown = () =>
    Object.fromEntries(
      registry
        .collect()
        .map(({ name, samples: [sample] }) => [
          name,
          sample && [sample.labels.map((pair) => pair.join("=")).join(), "value" in sample ? sample.value : sample.sum],
        ]),
    );
  const key = "long_running=false,method=GET,path=pods,server_type=readwrite";
  observer.onAsked(labels);
  assert.deepEqual(shown(), { kubelet_http_inflight_requests: [key, 1], kubelet_http_requests_total: [key, 1] });
  observer.onAnswered({ ...labels, status: 200, ms: 250 });
  assert.deepEqual(shown(), {
    kubelet_http_inflight_requests: [key, 0],
    kubelet_http_requests_duration_seconds: [key, 0.25],
    kubelet_http_requests_total: [key, 1],
  });
});

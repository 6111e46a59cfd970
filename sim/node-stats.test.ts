/** The stats and metrics routes of a simulated node, over the simulator's cgroups, in virtual time. */
import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { suite, test } from "node:test";
import type { Summary } from "../src/domain/stats/summary-shape.ts";
import { HttpError, type Route, type RouteRequest } from "../src/server/route.ts";
import { Router, routeAt } from "../src/server/router.ts";
import { statsRoutes } from "../src/server/stats/stats-routes.ts";
import { readExposition } from "../test/support/exposition.ts";
import { keptKubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import { World } from "./world.ts";

type Response = Parameters<Route["answer"]>[1];

const forever = new AbortController().signal;

async function start() {
  const world = new World({ seed: 7 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  const { agent, newest } = keptKubelet();
  node.start(agent);
  const routes = statsRoutes(newest().stats);
  const route = (path: string) => routes.find((each) => each.path === path) ?? assert.fail(`no route ${path}`);
  const ask = async (path: string, query = "", form?: string): Promise<string> => {
    const request = {
      method: form === undefined ? "GET" : "POST",
      headers: form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" },
      iterator: async function* () {
        yield Buffer.from(form ?? "");
      },
    } as unknown as RouteRequest["request"];
    const asked: RouteRequest = { request, parts: {}, query: new URLSearchParams(query), signal: forever };
    let body = "";
    const response = new Writable({
      write: (sent: Buffer, _, done) => {
        body += sent.toString();
        done();
      },
    });
    Object.assign(response, { writeHead: () => {} });
    await world.until(route(path).answer(asked, response as unknown as Response));
    return body;
  };
  const summary = async (query = "", form?: string) => JSON.parse(await ask("/stats/summary", query, form)) as Summary;
  return { world, node, router: () => new Router(routes), ask, summary, pods: plainPods(world) };
}

void suite("a simulated node's statistics", () => {
  test("[21.8] reads no stats for an hour without requests, and once for all requests within a second", async () => {
    const { world, node, summary, ask, pods } = await start();
    pods.create("app", {});
    await world.advance(3_600_000);
    assert.equal(node.stats.reads, 0);
    await summary();
    const begun = node.stats.reads;
    assert.ok(begun >= 1 && begun <= 2, "a second look only where the first has nothing to compare with");
    await Promise.all([summary(), ask("/metrics/resource"), summary("only_cpu_and_memory=true")]);
    assert.equal(node.stats.reads, begun);
    await world.advance(15_000);
    await summary();
    assert.equal(node.stats.reads, begun + 1, "the last reading is what the next is compared with");
  });

  test("[21.3][21.4] reports a pod with its container, CPU rate, process count, logs and network", async () => {
    const { world, summary, pods } = await start();
    pods.create("app", {});
    await world.advance(20_000);
    await summary();
    await world.advance(10_000);
    const { node, pods: reported } = await summary();
    assert.deepEqual(
      reported.map(({ podRef, containers, process_stats }) => [
        podRef.name,
        containers.map(({ name }) => name),
        process_stats,
      ]),
      [["app", ["app"], { process_count: 1 }]],
    );
    assert.deepEqual(
      [
        reported[0]?.containers[0]?.cpu?.usageNanoCores,
        reported[0]?.containers[0]?.logs?.capacityBytes,
        node.systemContainers.map(({ name }) => name),
      ],
      [100_000_000, 100 * 1024 ** 3, ["pods"]],
    );
    assert.equal(reported[0]?.network?.name, "eth0");
  });

  test("[20.12] accepts only_cpu_and_memory once, in the query or the form, and returns 404 for other paths below /stats", async () => {
    const { world, summary, router, pods } = await start();
    pods.create("app", {});
    await world.advance(20_000);
    const isLight = async (query: string, form?: string) => !("rlimit" in (await summary(query, form)).node);
    assert.equal(await isLight("only_cpu_and_memory=true"), true);
    assert.equal(await isLight("", "only_cpu_and_memory=true"), true);
    assert.equal(await isLight("only_cpu_and_memory=1"), false);
    assert.equal(await isLight("only_cpu_and_memory=true&only_cpu_and_memory=true"), false);
    const elsewhere = { path: ["stats", "container"], endsInSlash: false };
    assert.throws(
      () => routeAt(router(), elsewhere, "GET", () => true),
      (error: unknown) => error instanceof HttpError && error.status === 404 && error.message === "404: Page Not Found",
    );
  });

  test("[21.1][21.5] /metrics/resource and /metrics/cadvisor name the pod's container", async () => {
    const { world, ask, pods } = await start();
    pods.create("app", {});
    await world.advance(20_000);
    const resource = readExposition(await ask("/metrics/resource"));
    assert.equal(resource.get("container_cpu_usage_seconds_total")?.samples[0]?.labels["container"], "app");
    const cadvisor = readExposition(await ask("/metrics/cadvisor"));
    const rows = cadvisor.get("container_memory_working_set_bytes")?.samples.map(({ labels }) => labels["container"]);
    assert.ok(rows?.includes("app"));
    assert.equal(cadvisor.get("machine_cpu_cores")?.samples[0]?.value, 4);
  });
});

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { askPlainly, type Said } from "../../../test/support/node-caller.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { serveApi } from "../../../test/support/served-api.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import type { Container } from "../../domain/runtime/container.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import { pingCheck } from "../healthz.ts";
import { FLAG_BODY_BYTES_MAX, PODS_SHARED_MS } from "../limits.ts";
import type { Route } from "../route.ts";
import { configzRoute } from "./configz.ts";
import { verbosityRoute } from "./debug-flags.ts";
import { healthRoutes } from "./health.ts";
import { podsRoute, runningPodsRoute } from "./pods.ts";
import { profilingRoute } from "./profiling.ts";
import { flagzRoute, statuszRoute } from "./zpages.ts";

/** Serves the routes over plain HTTP, whatever port they belong to. */
async function served(t: TestContext, ...routes: readonly Route[]) {
  const api = serveApi({ readOnly: true, routes: routes.map((route) => ({ ...route, readOnlyPort: true })) });
  t.after(api.stop);
  const port = await api.port;
  return (path: string, method = "GET", headers: Readonly<Record<string, string>> = {}, body = ""): Promise<Said> =>
    askPlainly(`http://127.0.0.1:${port}${path}`, method, headers, body);
}
const answerOf = ({ status, body }: Said) => [status, body];

test("[20.6] /healthz runs the checks at each request, with verbose, exclude and a path per check", async (t) => {
  let fault: string | undefined;
  const checks = [pingCheck, { name: "syncloop", check: () => fault }];
  const ask = await served(t, ...healthRoutes(checks, keptLog()));
  assert.deepEqual(answerOf(await ask("/healthz")), [200, "ok"]);
  assert.deepEqual(answerOf(await ask("/healthz/syncloop")), [200, "ok"]);
  assert.equal((await ask("/healthz?verbose")).body, "[+]ping ok\n[+]syncloop ok\nhealthz check passed\n");
  fault = "it stands still";
  assert.deepEqual(answerOf(await ask("/healthz")), [
    500,
    "[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n",
  ]);
  assert.deepEqual(answerOf(await ask("/healthz/syncloop")), [500, "internal server error: it stands still\n"]);
  assert.deepEqual(answerOf(await ask("/healthz?exclude=syncloop")), [200, "ok"]);
  assert.equal((await ask("/healthz/nothing")).status, 404);
});

test("[20.4] requests of /pods within PODS_SHARED_MS share one list", async (t) => {
  let lists = 0;
  let nowMs = 0;
  const list = () => {
    lists += 1;
    return [];
  };
  const ask = await served(
    t,
    podsRoute(list, () => nowMs),
  );
  for (let index = 0; index < 10; index += 1) assert.equal((await ask("/pods")).status, 200);
  nowMs = PODS_SHARED_MS - 1;
  await ask("/pods");
  assert.equal(lists, 1);
  nowMs = PODS_SHARED_MS;
  await ask("/pods");
  assert.equal(lists, 2);
});

test("[20.4] /pods returns a PodList whose items have no kind", async (t) => {
  let pods: readonly Pod[] = [];
  let nowMs = 0;
  const ask = await served(
    t,
    podsRoute(
      () => pods,
      () => nowMs,
    ),
  );
  assert.deepEqual(answerOf(await ask("/pods")), [
    200,
    '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}\n',
  ]);
  const pod = {
    kind: "Pod",
    apiVersion: "v1",
    metadata: { name: "a" },
    spec: { containers: [] },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  };
  pods = [pod];
  nowMs += PODS_SHARED_MS;
  const { body, headers } = await ask("/pods");
  assert.equal(headers["content-type"], "application/json");
  assert.deepEqual(JSON.parse(body), {
    kind: "PodList",
    apiVersion: "v1",
    metadata: {},
    items: [
      {
        metadata: { name: "a" },
        spec: { containers: [] },
        status: { phase: "Running", conditions: [{ type: "Ready", status: "True", lastProbeTime: null }] },
      },
    ],
  });
});

test("[20.5] /runningpods is built from what the runtime lists", async (t) => {
  const filters: unknown[] = [];
  const runtime = {
    listSandboxes: async (filter: unknown) => {
      filters.push(filter);
      const metadata = { uid: "u", name: "pod", namespace: "ns", attempt: 0 };
      return [{ id: "s1", metadata } as Sandbox, { id: "s0", metadata: { ...metadata, uid: "v" } } as Sandbox];
    },
    listContainers: async (filter: unknown) => {
      filters.push(filter);
      const container = { sandboxId: "s1", metadata: { name: "c", attempt: 0 }, image: { image: "sha256:1" } };
      return [container as Container, { ...container, sandboxId: "s2" } as Container];
    },
  };
  const ask = await served(t, runningPodsRoute(runtime));
  const { items } = JSON.parse((await ask("/runningpods/")).body) as { readonly items: unknown };
  assert.deepEqual(items, [
    {
      metadata: { name: "pod", namespace: "ns", uid: "u" },
      spec: { containers: [{ name: "c", image: "sha256:1", resources: {} }] },
      status: {},
    },
    { metadata: { name: "pod", namespace: "ns", uid: "v" }, spec: { containers: null }, status: {} },
  ]);
  assert.deepEqual(filters, [{ state: "ready" }, { state: "running" }]);
});

test("[1.21] /configz has the configuration under kubeletconfig, with exact 64-bit integers", async (t) => {
  const ask = await served(
    t,
    configzRoute(() => ({ kind: "KubeletConfiguration", podPidsLimit: 9_007_199_254_740_993n })),
  );
  assert.equal(
    (await ask("/configz")).body,
    '{"kubeletconfig":{"kind":"KubeletConfiguration","podPidsLimit":9007199254740993}}',
  );
});

test("[20.16] PUT /debug/flags/v sets the log verbosity, and rejects what is not a number", async (t) => {
  const set: number[] = [];
  const ask = await served(
    t,
    verbosityRoute((verbosity) => set.push(verbosity)),
  );
  const put = async (body: string) => answerOf(await ask("/debug/flags/v", "PUT", {}, body));
  assert.deepEqual(await put("5"), [200, "successfully set klog.logging.verbosity to 5\n"]);
  assert.deepEqual(await put("x"), [400, 'strconv.ParseUint: parsing "x": invalid syntax\n']);
  assert.deepEqual(await put("-1"), [400, 'strconv.ParseUint: parsing "-1": invalid syntax\n']);
  assert.deepEqual(await put(""), [400, 'strconv.ParseUint: parsing "": invalid syntax\n']);
  assert.deepEqual(await put("4294967296"), [400, 'strconv.ParseUint: parsing "4294967296": value out of range\n']);
  assert.deepEqual(answerOf(await ask("/debug/flags/v")), [406, "unsupported http method\n"]);
  assert.deepEqual(set, [5]);
});

test("[20.16] a verbosity of exactly the limit is read, a larger request returns 413 and sets nothing", async (t) => {
  const set: number[] = [];
  const ask = await served(
    t,
    verbosityRoute((verbosity) => set.push(verbosity)),
  );
  const put = async (body: string) => answerOf(await ask("/debug/flags/v", "PUT", {}, body));
  assert.deepEqual(await put("5".padStart(FLAG_BODY_BYTES_MAX + 1, "0")), [413, "the value is too large"]);
  assert.deepEqual(await put("5".padStart(100 * FLAG_BODY_BYTES_MAX, "0")), [413, "the value is too large"]);
  assert.deepEqual(set, []);
  assert.equal((await put("5".padStart(FLAG_BODY_BYTES_MAX, "0")))[0], 200);
  assert.deepEqual(set, [5]);
});

test("[20.16] profiles are taken one at a time, for as long as requested", async (t) => {
  const taken: string[] = [];
  const hold = Promise.withResolvers<void>();
  const profiles = {
    commandLine: ["kubelet", "--v=2"],
    cpu: async (ms: number) => {
      taken.push(`cpu ${ms}`);
      await hold.promise;
      return '{"nodes":[]}';
    },
    heap: async (ms: number) => {
      taken.push(`heap ${ms}`);
      return "{}";
    },
  };
  const ask = await served(t, profilingRoute(profiles));
  assert.match((await ask("/debug/pprof/")).body, /^\/debug\/pprof\/\n/);
  assert.equal((await ask("/debug/pprof/cmdline")).body, "kubelet\0--v=2");
  assert.equal((await ask("/debug/pprof/goroutine")).status, 404);
  assert.equal((await ask("/debug/pprof/heap?seconds=1")).body, "{}");
  const first = ask("/debug/pprof/profile?seconds=2");
  while (taken.length < 2) await ask("/debug/pprof/");
  assert.deepEqual(answerOf(await ask("/debug/pprof/heap")), [
    500,
    "Could not enable CPU profiling: cpu profiling already in use\n",
  ]);
  hold.resolve();
  assert.equal((await first).body, '{"nodes":[]}');
  assert.deepEqual(taken, ["heap 1000", "cpu 2000"]);
  assert.equal((await ask("/debug/pprof/profile?seconds=601")).status, 400);
});

const OBJECT = "application/json;v=v1beta1;g=config.k8s.io;as=";

test("[20.15] /flagz returns text, or an object if the client requests one", async (t) => {
  const ask = await served(t, flagzRoute({ v: "2", config: "/etc/kubelet.yaml" }));
  for (const accept of ["", "*/*", "text/plain", "application/json, */*", "text/html, text/plain;q=0.5"]) {
    const { status, body } = await ask("/flagz", "GET", accept === "" ? {} : { accept });
    assert.deepEqual([status, body.split("\n").slice(3)], [200, ["config=/etc/kubelet.yaml", "v=2", ""]], accept);
    assert.ok(body.startsWith("\nkubelet flagz\nWarning: This endpoint is not meant to be machine parseable"));
  }
  const { body, headers } = await ask("/flagz", "GET", { accept: `${OBJECT}Flagz` });
  assert.equal(headers["content-type"], "application/json;g=config.k8s.io;v=v1beta1;as=Flagz");
  assert.deepEqual(JSON.parse(body), {
    kind: "Flagz",
    apiVersion: "config.k8s.io/v1beta1",
    metadata: { name: "kubelet" },
    flags: { v: "2", config: "/etc/kubelet.yaml" },
  });
  const yaml = await ask("/flagz", "GET", { accept: `${OBJECT}Flagz`.replace("json", "yaml") });
  assert.equal(yaml.headers["content-type"], "application/yaml;g=config.k8s.io;v=v1beta1;as=Flagz");
  assert.equal(
    yaml.body,
    'apiVersion: config.k8s.io/v1beta1\nflags:\n  config: /etc/kubelet.yaml\n  v: "2"\nkind: Flagz\nmetadata:\n  name: kubelet\n',
  );
  assert.match((await ask("/flagz", "GET", { accept: "application/yaml" })).body, /^apiVersion: v1\ncode: 406\n/);
  for (const accept of [
    "application/json",
    "text/html",
    `${OBJECT}Statusz`,
    "application/json;v=v9;g=config.k8s.io;as=Flagz",
  ]) {
    const refused = await ask("/flagz", "GET", { accept });
    assert.equal(refused.status, 406, accept);
    assert.equal((JSON.parse(refused.body) as { readonly reason: string }).reason, "NotAcceptable");
  }
});

test("[20.15] /statusz has start time and uptime, and warns about a deprecated version", async (t) => {
  const facts = {
    startedWallMs: Date.UTC(2026, 0, 2, 3, 4, 5),
    platform: "node26",
    binaryVersion: "1.36.4",
    emulationVersion: "1.36",
    paths: ["/healthz", "/metrics"],
  };
  const ask = await served(
    t,
    statuszRoute(facts, () => facts.startedWallMs + 3_723_900),
  );
  const { body } = await ask("/statusz");
  assert.match(body, /Started: Fri Jan {2}2 03:04:05 UTC 2026\n/);
  assert.match(body, /Up: 1 hr 02 min 03 sec\n/);
  assert.match(body, /Paths: \/healthz \/metrics\n/);
  const versioned = await ask("/statusz", "GET", { accept: `${OBJECT}Statusz` });
  assert.deepEqual(JSON.parse(versioned.body), {
    kind: "Statusz",
    apiVersion: "config.k8s.io/v1beta1",
    metadata: { name: "kubelet" },
    startTime: "2026-01-02T03:04:05Z",
    uptimeSeconds: 3723,
    goVersion: "node26",
    binaryVersion: "1.36.4",
    emulationVersion: "1.36",
    paths: ["/healthz", "/metrics"],
  });
  assert.equal(versioned.headers["warning"], undefined);
  const old = await ask("/statusz", "GET", { accept: `${OBJECT}Statusz`.replace("v1beta1", "v1alpha1") });
  assert.match(String(old.headers["warning"]), /^299 - "This version of the statusz endpoint is deprecated/);
});

/**
 * How the agent starts and stops on a real node: before its runtime, before its API server, and without effect on its
 * pods.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { type ApiFault, ApiFaultProxy, type ProxiedRequest } from "../support/api-fault-proxy.ts";
import { auditOf, readyFlips } from "../support/audit.ts";
import { EVERYTHING, type OrphanedPod, plant } from "../support/orphaned-pods.ts";
import {
  LASTING,
  lastingPod,
  NO_FAULTS,
  NODE,
  NODE_USER,
  SurvivalWorld,
  variedPod,
} from "../support/survival-world.ts";
import { containersOutliveKills } from "./survival/kills.ts";

const AGENT = `kubelet@${NODE}`;
const RUNTIME = `containerd@${NODE}`;
const SERVER = "kube-apiserver";
const END_MS_MAX = 5_000;

/** The duration of each fault. */
const API_FAULT_MS = 4_000;
const API_FAULTS: readonly ApiFault[] = [
  { kind: "status", status: 429, retryAfterSeconds: 1 },
  { kind: "status", status: 500 },
  { kind: "status", status: 503, retryAfterSeconds: 1 },
  { kind: "delay", delayMs: 2_000 },
];
/** Limit of requests with the same verb and path during a fault: without backoff there would be a thousand. */
const SAME_REQUESTS_MAX = 12;
const CAUGHT_UP_MS_MAX = 20_000;

/** UIDs of pods of no source, and the file that is left in a volume of each. */
const ORPHANS: Readonly<Record<string, string>> = {
  "5b0c9f5e-0000-4000-8000-000000000001": "",
  "5b0c9f5e-0000-4000-8000-000000000002": "vendor.example~driver/v/kept",
  "5b0c9f5e-0000-4000-8000-000000000003": "kubernetes.io~empty-dir/v/kept",
};

describe("start and stop of the agent", () => {
  let world: SurvivalWorld;

  before(async () => {
    world = await SurvivalWorld.start();
    for (let i = 0; i < 5; i += 1) await world.create();
    await world.settled();
  });

  after(async () => {
    await world.down();
  });

  const orphans: OrphanedPod[] = [];
  const agentLog = () => readFile(world.cluster.component(AGENT).logFile, "utf8");
  const nodeWrites = async () =>
    (await auditOf(world.cluster, NODE_USER)).filter(({ verb }) => verb !== "watch").length;

  test("[1.20] on SIGTERM the agent exits within 5 s, keeps every pod running and sends no more requests", async (t) => {
    const agent = world.cluster.component(AGENT);
    // Send SIGINT first; the assertions below are about SIGTERM.
    process.kill(agent.pid, "SIGINT");
    await waitUntil("the agent to end by SIGINT", END_MS_MAX, async () => !(await agent.isAlive()));
    await agent.restart();
    await world.settled();
    const startedMs = performance.now();
    const logEnd = async () => (await agentLog()).split("\n").slice(-30).join("\n");
    await agent.end().catch(async (error: unknown) => {
      throw new Error(`it does not end; the end of its log:\n${await logEnd()}`, { cause: error });
    });
    const tookMs = performance.now() - startedMs;
    t.diagnostic(`ended after ${Math.round(tookMs)} ms`);
    assert.ok(tookMs <= END_MS_MAX, `${tookMs} ms; the end of its log:\n${await logEnd()}`);
    const said = await nodeWrites();
    await pause(2_000);
    assert.equal(await nodeWrites(), said);
    assert.deepEqual(world.oracle.verdict(), { doubled: [], lost: [], restarted: [] });
    assert.equal(world.oracle.living.size, 5);
    await agent.restart();
    await world.settled();
    assert.deepEqual(await world.faults(), NO_FAULTS);
  });

  for (const [rows, what, absent] of [
    ["[1.24]", "its runtime", [RUNTIME]],
    ["[1.11] [4.9]", "its API server", [SERVER]],
    ["[1.24] [4.9]", "both its runtime and its API server", [SERVER, RUNTIME]],
  ] as const) {
    test(`${rows} agent started before ${what} waits, and then works without a restart`, async () => {
      const agent = world.cluster.component(AGENT);
      await agent.end();
      for (const name of absent) await world.cluster.component(name).kill();
      await agent.restart();
      const { pid } = agent;
      await pause(5_000);
      assert.deepEqual(world.oracle.verdict(), { doubled: [], lost: [], restarted: [] });
      for (const name of absent) await world.cluster.component(name).restart();
      const fresh = await world.create();
      await world.settled();
      assert.equal(world.oracle.containersOf(fresh.uid).length, 1);
      assert.deepEqual([agent.pid, await agent.isAlive()], [pid, true], "the agent did not restart");
      assert.deepEqual(await world.faults(), NO_FAULTS);
    });
  }

  test("[1.14] the agent uses a kubelet's user agent and separate connections for pods, heartbeats and events", async () => {
    const agents = (await auditOf(world.cluster, NODE_USER)).map(({ userAgent }) => userAgent);
    assert.deepEqual([...new Set(agents)], ["kubelet/v1.36.4 (linux/amd64) kubernetes/deckhand"]);
    const { port } = new URL(world.cluster.api.url);
    const far = `:${Number(port).toString(16).toUpperCase().padStart(4, "0")}`;
    const established = async () => {
      const table = await readFile(`/proc/${world.cluster.component(AGENT).pid}/net/tcp`, "utf8");
      const sockets = table.split("\n").map((line) => line.trim().split(/\s+/));
      return sockets.filter(([, , to, state]) => to?.endsWith(far) && state === "01").length;
    };
    // The connection for events is opened with the next event. A renewed connection stays beside the new one while a
    // watch is open on it.
    await world.create();
    await world.settled();
    await waitUntil("three connections at least", 10_000, async () => (await established()) >= 3);
  });

  test("[1.19] [1.25] healthz is served on 127.0.0.1 check by check, and retried while its port is taken", async () => {
    const node = world.cluster.nodes[0];
    const ask = async (path: string) => {
      const code = `fetch("http://127.0.0.1:10248${path}").then(async (r) => console.log(r.status, await r.text()))`;
      return ((await node?.run(process.execPath, "-e", code))?.stdout ?? "").trim();
    };
    assert.equal(await ask("/healthz"), "200 ok");
    for (const check of ["ping", "log", "syncloop"]) assert.equal(await ask(`/healthz/${check}`), "200 ok");
    const all = "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed";
    assert.equal(await ask("/healthz?verbose"), `200 ${all}`);
    assert.match(await ask("/healthz?verbose&exclude=log"), /\[\+\]log excluded: ok/);
    const agent = world.cluster.component(AGENT);
    await agent.end();
    const code = `require("node:net").createServer().listen(10248, "127.0.0.1"); setTimeout(() => process.exit(), 8_000)`;
    const holder = node?.run(process.execPath, "-e", code);
    await waitUntil("the port to be taken", 30_000, async () => {
      return /0100007F:2808 \S+ 0A/.test((await node?.run("cat", "/proc/net/tcp"))?.stdout ?? "");
    });
    await agent.restart();
    await waitUntil("the agent to say so", 10_000, async () => {
      return /Failed to start healthz server.*EADDRINUSE/.test(await agentLog());
    });
    await holder;
    await waitUntil("its health to be reported again", 15_000, async () => (await ask("/healthz")) === "200 ok");
    await world.settled();
    assert.deepEqual(await world.faults(), NO_FAULTS);
  });

  test("[1.24] [23.3] an agent that cannot create its root directory exits with 1, and a Node event says why", async (t) => {
    const directory = await mkdtemp(join(tmpdir(), "deckhand-setup-"));
    t.after(() => rm(directory, { recursive: true }));
    const file = join(directory, "file");
    await writeFile(file, "");
    const main = join(import.meta.dirname, "../../src/app/main.ts");
    const args = [
      `--kubeconfig=${world.cluster.layout.node(0).kubeconfig}`,
      `--root-dir=${file}/root`,
      `--hostname-override=${NODE}`,
      "--fail-cgroupv1=false",
      "--healthz-port=0",
    ];
    const child = spawn(process.execPath, [main, "kubelet", ...args], { stdio: "ignore" });
    const [exitCode] = (await once(child, "exit")) as [number | null];
    assert.equal(exitCode, 1);
    const lines = "jsonpath={range .items[*]}{.type} {.involvedObject.kind}/{.involvedObject.name} {.message}{end}";
    const selector = "--field-selector=reason=KubeletSetupFailed";
    const reported = await world.cluster.kubectl("get", "events", selector, "-o", lines);
    assert.match(reported, new RegExp(`^Warning Node/${NODE} .*${file}/root`));
  });

  test("[23.2] events of a pod have the kubelet's reasons and messages", async () => {
    const pod = await world.create();
    await world.settled();
    const reported = async () => {
      const lines = "jsonpath={range .items[*]}{.type} {.reason}: {.message}{'\\n'}{end}";
      const selector = `--field-selector=involvedObject.uid=${pod.uid}`;
      const text = await world.cluster.kubectl("get", "events", selector, "-o", lines);
      return text.trim().split("\n").toSorted();
    };
    const image = /^Normal Pulled: Container image ".*" already present on machine/;
    await waitUntil("three events", 10_000, async () => (await reported()).length === 3);
    const [created, pulled = "", started] = await reported();
    assert.deepEqual([created, started], ["Normal Created: Container created", "Normal Started: Container started"]);
    assert.match(pulled, image);
    await world.delete(pod);
    await world.settled();
    await waitUntil("a fourth", 10_000, async () => (await reported()).length === 4);
    assert.ok((await reported()).includes("Normal Killing: Stopping container app"), (await reported()).join());
  });

  test("[23.1] events of a pod name a resourceVersion of the pod", async () => {
    const pod = await world.create();
    await world.settled();
    const selector = `--field-selector=involvedObject.uid=${pod.uid}`;
    const path = "jsonpath={.items[*].involvedObject.resourceVersion}";
    const events = async () => (await world.cluster.kubectl("get", "events", selector, "-o", path)).trim().split(/\s+/);
    await waitUntil("three events", 10_000, async () => (await events()).length === 3);
    const published = (await world.pods()).find(({ metadata }) => metadata?.uid === pod.uid);
    const latest = Number(published?.metadata?.resourceVersion ?? assert.fail(pod.name));
    const first = Number(
      await world.cluster.kubectl("get", "namespace", "default", "-o", "jsonpath={.metadata.resourceVersion}"),
    );
    for (const version of await events()) assert.ok(first < Number(version) && Number(version) <= latest, version);
    await world.delete(pod);
    await world.settled();
  });

  test("[6.7] a pod force-deleted while the agent was down is terminated, and no other pod", async () => {
    const agent = world.cluster.component(AGENT);
    await agent.end();
    const [victim] = world.wanted;
    assert.ok(victim);
    await world.forceDelete(victim);
    await agent.restart();
    await waitUntil("the orphan to end", 60_000, () => Promise.resolve(!world.oracle.living.has(victim.uid)));
    await world.settled();
    assert.deepEqual(await world.faults(), NO_FAULTS);
  });

  test("[7.15] preStop hook of a force-deleted pod runs from the CRI annotation after the agent's restart", async () => {
    const agent = world.cluster.component(AGENT);
    const directory = join(world.cluster.layout.node(0).directory, "hooks");
    await mkdir(directory);
    world.podOf = (name) =>
      lastingPod(name, {
        volumes: [{ name: "hooks", hostPath: { path: directory } }],
        containers: [
          {
            name: "app",
            image: BUSYBOX_IMAGE,
            command: [...LASTING],
            volumeMounts: [{ name: "hooks", mountPath: "/hooks" }],
            lifecycle: { preStop: { exec: { command: ["sh", "-c", "date > /hooks/$HOSTNAME"] } } },
          },
        ],
      });
    const victims = [await world.create(), await world.create(), await world.create()];
    await world.settled();
    await agent.end();
    for (const victim of victims) await world.forceDelete(victim);
    assert.deepEqual(await readdir(directory), []);
    await agent.restart();
    const haveEnded = () => victims.every(({ uid }) => !world.oracle.living.has(uid));
    await waitUntil("the orphaned pods to terminate", 60_000, () => Promise.resolve(haveEnded()));
    // The pod has a grace period of one second, which may be too short for a hook on a busy machine.
    assert.notDeepEqual(await readdir(directory), []);
    world.podOf = lastingPod;
    await world.settled();
    assert.deepEqual(await world.faults(), NO_FAULTS);
  });

  test("[4.9] [6.11] [6.12] directories, logs and cgroups of unknown pods stay until every source is ready", async () => {
    await world.cluster.component(AGENT).end();
    await world.cluster.component(SERVER).kill();
    for (const [uid, volume] of Object.entries(ORPHANS)) orphans.push(await plant(world, uid, volume));
    await world.cluster.component(AGENT).restart();
    await pause(5_000);
    for (const one of orphans) assert.deepEqual([await one.left(), one.isAlive()], [EVERYTHING, true]);
    assert.deepEqual(world.oracle.verdict(), { doubled: [], lost: [], restarted: [] });
    await world.cluster.component(SERVER).restart();
  });

  test("[6.11] [6.12] [19.1] then they are removed with their processes; one with an unknown volume keeps directory, cgroup and process, with minimal CPU shares", async () => {
    const [empty, holding, scratch] = orphans;
    assert.ok(empty !== undefined && holding !== undefined && scratch !== undefined);
    for (const one of [empty, scratch]) {
      await waitUntil("what is left to go", 90_000, async () => (await one.left()).length === 0);
      await waitUntil("its process to end", 30_000, () => Promise.resolve(!one.isAlive()));
    }
    await waitUntil("the other's logs to go", 30_000, async () => (await holding.left()).join() === "directory,cgroup");
    assert.ok(holding.isAlive());
    assert.equal(await holding.cpuShares(), 2);
    assert.deepEqual(await holding.inVolume(), ["kept"]);
    await holding.removeDirectory();
    await world.settled();
    assert.deepEqual(await world.faults(), NO_FAULTS);
  });

  test("[27.1.8] [27.1.39] pod directories and cgroups have the kubelet's paths, and those of deleted pods are removed", async () => {
    const run = async (...args: readonly string[]) => (await world.cluster.nodes[0]?.run(...args))?.stdout ?? "";
    const wanted = world.wanted.map(({ uid }) => uid).toSorted();
    const directories = "/var/lib/kubelet/pods";
    await waitUntil("the directories of terminated pods to go", 90_000, async () => {
      return (await run("ls", directories)).trim().split("\n").toSorted().join() === wanted.join();
    });
    const modes = await run("stat", "-c", "%a", ...wanted.map((uid) => `${directories}/${uid}`));
    assert.deepEqual([...new Set(modes.trim().split("\n"))], ["750"]);
    assert.deepEqual((await run("ls", `${directories}/${wanted[0]}`)).trim().split("\n"), [
      "containers",
      "etc-hosts",
      "plugins",
      "volumes",
    ]);
    const group = await readFile(`/proc/${world.oracle.pidsOf(wanted[0] ?? "")[0]}/cgroup`, "utf8");
    const parent = world.cluster.nodes[0]?.cgroupParent;
    assert.match(group, new RegExp(`:pids:${parent}/kubepods/besteffort/pod${wanted[0]}/[0-9a-f]{64}\n`));
    assert.doesNotMatch(await agentLog(), /Unexpected error/);
  });

  test("pods with volumes, probes and sidecars run beside the others, for the tests that follow", async () => {
    world.podOf = variedPod;
    for (let i = 0; i < 3; i += 1) await world.create();
    await world.settled();
  });

  containersOutliveKills(() => world, { agentKills: 8, runtimeKills: 2, awayMs: 8_000, stoppedMs: 6_000 });

  test("[1.14] [4.9] agent backs off while the API server answers 429, 500, 503 or late, pods keep running, and it catches up", async (t) => {
    const node = world.cluster.nodes[0] ?? assert.fail("the cluster has a node");
    const { proxy, kubeconfig } = await ApiFaultProxy.start(world.cluster, node);
    try {
      await world.cluster.changeAgent(NODE, "deckhand", { flags: [`--kubeconfig=${kubeconfig}`] });
      const isRenewal = ({ method, path }: ProxiedRequest) => method === "PUT" && path.includes("/leases/");
      await waitUntil("a heartbeat", 30_000, () => Promise.resolve(proxy.requests.some(isRenewal)));
      const agent = world.cluster.component(AGENT);
      const { pid } = agent;
      for (const fault of API_FAULTS) {
        const first = proxy.requests.length;
        proxy.faultOf = () => fault;
        proxy.cut(); // Watches have to restart under the fault, too.
        await world.create();
        await world.delete(world.wanted[0] ?? assert.fail("a pod is wanted"));
        await pause(API_FAULT_MS);
        const under = proxy.requests.slice(first);
        const byRequest = Map.groupBy(under, ({ method, path }) => `${method} ${path.replace(/\?.*/, "")}`);
        const [most = ["", []]] = [...byRequest].toSorted(([, a], [, b]) => b.length - a.length);
        const what = `${JSON.stringify(fault)}: ${under.length} requests, ${most[1].length} of them ${most[0]}`;
        t.diagnostic(what);
        assert.ok(under.length > 0, "the agent sends requests meanwhile");
        assert.ok(most[1].length <= SAME_REQUESTS_MAX, what);
        assert.deepEqual(world.oracle.verdict(), { doubled: [], lost: [], restarted: [] });
      }
      proxy.faultOf = () => undefined;
      await world.settled(CAUGHT_UP_MS_MAX);
      assert.deepEqual([agent.pid, await agent.isAlive()], [pid, true], "the agent did not restart");
      assert.deepEqual(await world.faults(), NO_FAULTS);
    } finally {
      await world.cluster.changeAgent(NODE, "deckhand");
      await proxy.close();
    }
    await world.settled();
  });

  test("the oracle detects a killed container, a restart and a flip of readiness", async () => {
    world.podOf = lastingPod;
    const victim = await world.create();
    await world.settled();
    world.oracle.killContainers(victim.uid);
    await waitUntil("the restart", 60_000, () => Promise.resolve(world.oracle.containersOf(victim.uid).length === 2));
    await world.settled();
    const { doubled, lost, restarted } = world.oracle.verdict();
    assert.deepEqual([doubled.length, lost.length, restarted.length], [0, 1, 1]);
    const flips = readyFlips(await auditOf(world.cluster, NODE_USER), () => undefined);
    assert.ok(
      flips.some((flip) => flip.includes(victim.name)),
      flips.join("\n"),
    );
    assert.equal((await world.faults())["restartCounts"]?.length, 1);
  });
});

/** Tests of the cluster harness, on which all other suites with real components depend. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connectCri } from "../../src/wire/cri/client.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { exists } from "../cluster/cache.ts";
import { type Cluster, openCluster, startCluster } from "../cluster/cluster.ts";
import { command, tryCommand } from "../cluster/command.ts";
import { down } from "../cluster/down.ts";
import { AGNHOST_IMAGE, BUSYBOX_IMAGE } from "../cluster/images.ts";
import { allRecords, readRecord } from "../cluster/record.ts";
import { machineSysctls, readSysctls } from "../cluster/sysctls.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { CLI, runPod } from "./cluster-world.ts";

const UP_MS_MAX = 30_000;
const cli = (...args: readonly string[]) => tryCommand(process.execPath, [CLI, ...args], { limitMs: 120_000 });

/** The runtime conditions that are true. A runtime may add its own, such as containerd's deprecation warning. */
async function runtimeConditions(cluster: Cluster): Promise<readonly string[]> {
  const endpoint = cluster.nodes[0]?.criEndpoint ?? "";
  const client = connectCri({ endpoint, onMalformed: (detail) => assert.fail(detail) }, hostClock);
  try {
    const { conditions } = await client.runtime.status({ verbose: false }, AbortSignal.timeout(5_000));
    return conditions.filter(({ status }) => status).map(({ type }) => type);
  } finally {
    client.close();
  }
}

const podIp = (cluster: Cluster, name: string) => cluster.kubectl("get", "pod", name, "-o", "jsonpath={.status.podIP}");

test("up, a pod with its token, logs, exec and a Service, and down work twice in a row", async (t) => {
  const kernelBefore = await machineSysctls();
  for (let cycle = 1; cycle <= 2; cycle += 1) {
    const startedMs = performance.now();
    const cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "go" }] });
    try {
      const upMs = performance.now() - startedMs;
      t.diagnostic(`cycle ${cycle}: up after ${(upMs / 1000).toFixed(1)} s`);
      assert.ok(upMs <= UP_MS_MAX, `up took ${upMs} ms`);
      assert.equal(await cluster.kubectl("get", "--raw", "/readyz"), "ok");
      const conditions = await runtimeConditions(cluster);
      for (const wanted of ["RuntimeReady", "NetworkReady"]) assert.ok(conditions.includes(wanted), conditions.join());
      await runPod(cluster, "web", AGNHOST_IMAGE, "/agnhost", "netexec", "--http-port=8080");
      assert.match(await cluster.kubectl("logs", "web"), /Started HTTP server on port 8080/);
      const token = await cluster.kubectl(
        "exec",
        "web",
        "--",
        "cat",
        "/var/run/secrets/kubernetes.io/serviceaccount/token",
      );
      assert.equal(token.split(".").length, 3, "the token is a JWT");
      await cluster.kubectl("expose", "pod", "web", "--port=80", "--target-port=8080");
      const service = await cluster.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}");
      await runPod(cluster, "client", BUSYBOX_IMAGE, "sleep", "3600");
      await waitUntil("the Service to answer", 20_000, async () => {
        return (await cluster.kubectl("exec", "client", "--", "wget", "-qO-", `http://${service}/hostname`)) === "web";
      });
    } finally {
      await cluster.down();
    }
    assert.equal(await exists(cluster.layout.directory), false);
    // Another cluster on the machine may still need the kernel settings; the last one to end restores them.
    if ((await allRecords()).length === 0) assert.deepEqual(await readSysctls(), kernelBefore);
  }
});

describe("a cluster of two nodes beside a cluster of one", () => {
  let pair: Cluster;
  let single: Cluster;
  const up: Cluster[] = [];

  before(async () => {
    const start = async (...nodes: readonly { readonly agent: "go" }[]) => {
      const cluster = await startCluster({ controlPlane: "full", nodes });
      up.push(cluster);
      return cluster;
    };
    // Wait for both, also when one fails: `after` must find the other.
    const both = [start({ agent: "go" }, { agent: "go" }), start({ agent: "go" })] as const;
    await Promise.allSettled(both);
    [pair, single] = await Promise.all(both);
  });

  after(() => Promise.all(up.map((cluster) => cluster.down())));

  test("each has its own nodes, addresses, sockets and cgroups", async () => {
    assert.match(await pair.kubectl("get", "nodes", "-o", "name"), /^node\/n1\nnode\/n2\n$/);
    assert.match(await single.kubectl("get", "nodes", "-o", "name"), /^node\/n1\n$/);
    const of = (cluster: Cluster) => [
      cluster.api.url,
      cluster.layout.cgroupParent,
      ...cluster.nodes.map((n) => n.containerdSocket),
    ];
    assert.equal(new Set([...of(pair), ...of(single)]).size, of(pair).length + of(single).length);
  });

  test("pods on two nodes reach each other, with their own addresses", async () => {
    const on = (node: string) => `--overrides={"spec":{"nodeName":"${node}"}}`;
    await pair.kubectl("run", "a", `--image=${AGNHOST_IMAGE}`, on("n1"), "--", "netexec", "--http-port=8080");
    await pair.kubectl("run", "b", `--image=${AGNHOST_IMAGE}`, on("n2"), "--", "netexec", "--http-port=8080");
    await pair.kubectl("wait", "--for=condition=Ready", "pod/a", "pod/b", "--timeout=60s");
    const [a, b] = [await podIp(pair, "a"), await podIp(pair, "b")];
    assert.match(a, /^198\.18\.1\./);
    assert.match(b, /^198\.18\.2\./);
    const seen = await pair.kubectl("exec", "a", "--", "wget", "-qO-", `http://${b}:8080/clientip`);
    assert.equal(seen.split(":")[0], a, "the other node's pod sees this pod's address");
    assert.match(await pair.kubectl("exec", "b", "--", "wget", "-qO-", `http://${a}:8080/hostname`), /^a$/);
  });

  test("a component is killed, paused, resumed and restarted by name", async () => {
    const scheduler = single.component("kube-scheduler");
    const firstPid = scheduler.pid;
    await scheduler.kill();
    assert.equal(await scheduler.isAlive(), false);
    await scheduler.restart();
    assert.equal(await scheduler.isAlive(), true);
    assert.notEqual(scheduler.pid, firstPid);

    const api = single.component("kube-apiserver");
    await api.pause();
    assert.match(await readFile(`/proc/${api.pid}/status`, "utf8"), /^State:\tT/m);
    await assert.rejects(single.kubectl("get", "--raw", "/readyz", "--request-timeout=2s"));
    await api.resume();
    assert.equal(await single.kubectl("get", "--raw", "/readyz"), "ok");

    assert.throws(() => single.component("nobody"), /no component nobody; there are anchor@control-plane, /);
  });

  test("containers survive kills and restarts of containerd, the Go kubelet, etcd and the API server", async () => {
    await runPod(single, "lasting", BUSYBOX_IMAGE, "sleep", "3600");
    for (const name of ["containerd@n1", "kubelet@n1", "etcd", "kube-apiserver"]) {
      await single.component(name).kill();
      await single.component(name).restart();
    }
    await waitUntil("the node to be Ready again", 60_000, async () => {
      const ready = `jsonpath={.status.conditions[?(@.type=="Ready")].status}`;
      return (await single.kubectl("get", "node", "n1", "-o", ready)) === "True";
    });
    const restarts = "jsonpath={.status.containerStatuses[0].restartCount}";
    assert.equal(await single.kubectl("get", "pod", "lasting", "-o", restarts), "0");
    assert.equal(await single.kubectl("exec", "lasting", "--", "echo", "here"), "here\n");
  });

  test("openCluster opens a running cluster by name and finds a component that another process restarted", async () => {
    const { code } = await cli("--name", single.layout.name, "restart", "kube-scheduler");
    assert.equal(code, 0);
    const opened = await openCluster(single.layout.name);
    assert.equal(await opened.component("kube-scheduler").isAlive(), true);
  });
});

test("up succeeds after an earlier up was killed at any moment, and nothing of that one is left", async (t) => {
  const name = "killed";
  for (const delayMs of [300, 1_500, 3_000, 6_000]) {
    const child = spawn(process.execPath, [CLI, "--name", name, "up", "--agent", "go"], { stdio: "ignore" });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await pause(delayMs);
    child.kill("SIGKILL");
    await ended;
    const left = (await readRecord(name))?.components.length ?? 0;
    t.diagnostic(`killed after ${delayMs} ms with ${left} components noted`);
  }
  const cluster = await startCluster({ name, controlPlane: "api", nodes: [] });
  assert.equal(await cluster.kubectl("get", "--raw", "/readyz"), "ok");
  await cluster.down();
});

test("down fails with a list of what it could not remove, and deletes nothing in a mount", async () => {
  const cluster = await startCluster({ controlPlane: "none", nodes: [] });
  const { directory, name } = cluster.layout;
  const mountPoint = join(directory, "mount");
  const marker = join(mountPoint, "marker");
  await mkdir(mountPoint);
  await command("mount", ["-t", "tmpfs", "tmpfs", mountPoint]);
  await writeFile(marker, "still here");
  const disk = join(directory, "disk");
  await writeFile(disk, Buffer.alloc(1 << 20));
  const loop = (await command("losetup", ["--find", "--show", disk])).trim();
  await command("nft", ["add", "table", "ip", "deckhand_test"]);
  await command("nft", ["add", "chain", "ip", "deckhand_test", "left"]);
  const stray = spawn("tail", ["-f", disk], { stdio: "ignore" });
  try {
    const error = await cluster.down().then(
      () => assert.fail("down said nothing"),
      (reason: Error) => reason,
    );
    for (const line of [
      `process ${stray.pid} works below ${directory}`,
      `mount ${mountPoint}`,
      `directory ${directory}`,
      "packet filter chain ip deckhand_test left",
      `loop device ${loop.slice("/dev/".length)}`,
    ]) {
      assert.ok(error.message.includes(`\n  ${line}`), `${line} is not in\n${error.message}`);
    }
    assert.equal(await readFile(marker, "utf8"), "still here");
  } finally {
    stray.kill("SIGKILL");
    await command("losetup", ["-d", loop]);
    await command("nft", ["delete", "table", "ip", "deckhand_test"]);
    await command("umount", [mountPoint]);
  }
  await cluster.down();
  assert.equal(await readRecord(name), undefined);
  assert.equal(await exists(directory), false);
});

test("startCluster names a component that cannot start, with the end of its log, and tears down the others", async () => {
  await assert.rejects(
    startCluster({ controlPlane: "api", nodes: [{ agent: "deckhand", options: { configuration: { maxPods: -1 } } }] }),
    /kubelet@n1 ended before it was ready\n/,
  );
});

test("the command line: up, status, kubectl, run, kill, restart, down", async () => {
  const on = (...args: readonly string[]) => cli("--name", "by-hand", ...args);
  const up = await on("up", "--agent", "none", "--control-plane", "api");
  assert.equal(up.code, 0, up.stderr);
  try {
    assert.match(up.stdout, /by-hand is up after [\d.]+ s\n/);
    assert.equal((await on("up")).code, 1, "a second up of the same name refuses");
    assert.equal((await on("kubectl", "get", "--raw", "/readyz")).stdout, "ok");
    assert.equal((await on("run", "n1", "hostname")).stdout, "n1\n");
    await on("kill", "etcd");
    const broken = await on("status");
    assert.equal(broken.code, 1);
    assert.match(broken.stdout, /^DOWN etcd /m);
    const restart = await on("restart", "etcd", "kube-apiserver");
    assert.equal(restart.code, 0, restart.stderr);
    assert.equal((await on("status")).code, 0);
    assert.match((await on("list")).stdout, /^by-hand\t/m);
  } finally {
    await down("by-hand");
  }
  assert.match((await on("status")).stderr, /there is no cluster by-hand/);
  assert.equal((await cli("nonsense")).code, 2);
});

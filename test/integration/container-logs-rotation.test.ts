/** Log rotation in its hardest cases: many rotations, an agent killed between two steps, and a full disk. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { rotatedLogs } from "../../src/domain/logs/rotated-logs.ts";
import { type Cluster, type ClusterNode, type Component, startCluster } from "../cluster/cluster.ts";
import type { CriProxy } from "../cluster/cri-proxy.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";
import { ClusterPods, podOn, SLEEPER, sh } from "../support/cluster-pods.ts";
import { LineFollower } from "./container-logs/line-follower.ts";
import { HEARD, loudPod, loudPodOfNoise } from "./container-logs/log-pods.ts";
import { watchSizes } from "./container-logs/watch-sizes.ts";

const LIMIT_BYTES = 100_000;
const LINE_BYTES = 1_000;
const ROTATIONS = wholeSize() ? 105 : 8;
const DEATHS = wholeSize() ? 20 : 4;
/** Size of the disk of all logs of the node, and of the file that fills it. */
const DISK_MIB = 6;
const FILLED_MIB = 4;
const FOREVER = 1_000_000;

let cluster: Cluster;
let node: ClusterNode;
let proxy: CriProxy;
let pods: ClusterPods;

/** No rotated log is deleted while a test counts lines. */
const configuration = {
  containerLogMaxSize: String(LIMIT_BYTES),
  containerLogMaxFiles: 1_000,
  // The tests fill the node's disks.
  evictionHard: { "memory.available": "1%", "nodefs.available": "0%", "imagefs.available": "0%" },
};

before(async () => {
  cluster = await startCluster({
    controlPlane: "full",
    nodes: [{ agent: "deckhand", criProxy: true, options: { configuration } }],
  });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  proxy = node.criProxy ?? assert.fail("the node has a proxy");
  pods = await ClusterPods.of(cluster);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

const agent = (): Component => cluster.component(`kubelet@${node.name}`);

async function inNode(...args: readonly string[]): Promise<string> {
  const { stdout, stderr, code } = await node.run(...args);
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** Returns the directory of the container's log once the log exists. */
async function begin(pod: object, container: string): Promise<string> {
  const { metadata } = await pods.create({ ...pod, metadata: { ...(pod as Pod).metadata, namespace: "default" } });
  const directory = node.inside(`/var/log/pods/default_${metadata?.name}_${metadata?.uid}/${container}`);
  await waitUntil(`the log of ${metadata?.name}`, 60_000, async () => (await readdir(directory)).includes("0.log"));
  return directory;
}

async function end(name: string): Promise<void> {
  await pods.delete(name, 0);
  await pods.gone(name);
}

interface Part {
  readonly name: string;
  readonly text: string;
}

const LOOKS_MAX = 10;

/**
 * Oldest first, the current log last. A compressed log must be complete: a truncated one fails here. A log that was
 * compressed between listing and reading is looked up again.
 */
async function partsOf(directory: string, looks = 1): Promise<readonly Part[]> {
  const { inUse } = rotatedLogs("0.log", await readdir(directory));
  const names = [...inUse.map(({ name }) => name), "0.log"];
  try {
    return await Promise.all(
      names.map(async (name) => {
        const bytes = await readFile(join(directory, name));
        return { name, text: (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("latin1") };
      }),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || looks === LOOKS_MAX) throw error;
    await pause(20);
    return partsOf(directory, looks + 1);
  }
}

/** The numbers of all whole lines. */
const numbersIn = (parts: readonly Part[]): readonly number[] =>
  parts
    .flatMap(({ text }) => [...text.matchAll(/^\S+ stdout F (?<number>\d+) \w{985}$/gm)])
    .map(({ groups }) => Number(groups?.["number"]));

/** Pairs of adjacent numbers that are not consecutive. */
const gapsIn = (numbers: readonly number[]): readonly string[] =>
  numbers.flatMap((number, index) => {
    const previous = numbers[index - 1] ?? number - 1;
    return number === previous + 1 ? [] : [`${previous} ${number}`];
  });

const rotationsOf = async (directory: string) => rotatedLogs("0.log", await readdir(directory)).inUse.length;

void suite("rotation of container logs", () => {
  test(`[19.2] [19.4] [27.1.34] [scenario 40] kubectl logs -f prints every line exactly once over ${ROTATIONS} rotations`, async () => {
    // About one rotation per second: the name of a rotated log contains the second.
    const lines = Math.ceil((LIMIT_BYTES * 1.6 * ROTATIONS) / LINE_BYTES);
    const directory = await begin(
      loudPod("loud", node.name, { lines, perTurn: 10, pauseMs: 80, waitsToBeHeard: true }),
      "app",
    );
    const watched = watchSizes(directory);
    const follower = new LineFollower(cluster, "loud");
    await waitUntil("the follower's first line", 60_000, async () => follower.next > 1);
    await cluster.kubectl("exec", "loud", "--", "touch", HEARD);
    await follower.ended;
    const { parts, largest } = await watched.end();
    assert.equal(follower.trouble, undefined);
    assert.equal(follower.next - 1, lines);
    figure("rotations that a follower saw through", parts.size, "");
    figure("largest log", largest / LIMIT_BYTES, "of its limit");
    assert.ok(parts.size >= ROTATIONS, `${parts.size} rotations`);
    const numbers = numbersIn(await partsOf(directory));
    assert.deepEqual([numbers.length, gapsIn(numbers)], [lines, []], "and every line is in one file");
    const names = (await readdir(directory)).filter((name) => !name.endsWith(".tmp")).toSorted();
    const [log, ...rotated] = names;
    assert.equal(log, "0.log");
    assert.ok(rotated.length > 1 && rotated.every((name) => /^0\.log\.\d{8}-\d{6}(\.gz)?$/.test(name)), names.join());
    await end("loud");
  });

  test(`[19.2] [scenario 40] an agent killed between the steps of a rotation, ${DEATHS} times, leaves readable logs, and the restarted agent creates a missing 0.log`, async () => {
    const directory = await begin(loudPod("dying", node.name, { lines: FOREVER, perTurn: 5, pauseMs: 50 }), "app");
    for (let deaths = 0; deaths < DEATHS; deaths += 1) {
      const before = await rotationsOf(directory);
      // Killed before the runtime receives the request, there is no log yet. Killed after the runtime has reopened the
      // log, the agent does not know that the log exists.
      const step = deaths % 2 === 0 ? "before" : "after";
      const reached = Promise.withResolvers<void>();
      const unhook = proxy.hook("ReopenContainerLog", {
        [step]: () => {
          reached.resolve();
          return new Promise<void>(() => {});
        },
      });
      await reached.promise;
      await agent().kill();
      unhook();
      assert.equal((await readdir(directory)).includes("0.log"), step === "after");
      const parts = await partsOf(directory).catch(() => []);
      assert.ok(step === "before" || parts.length > before, "what was rotated is there");
      await agent().restart();
      await waitUntil("the log", 30_000, async () => (await readdir(directory)).includes("0.log"), 20);
      // An agent that has just started may not serve yet.
      const last = async () =>
        Number((await cluster.kubectl("logs", "dying", "--tail=1").catch(() => "0")).split(" ")[0]);
      let seen = 0;
      await waitUntil("a line that can be read", 30_000, async () => (seen = await last()) > 0, 200);
      await waitUntil("one that came after it", 30_000, async () => (await last()) > seen, 200);
      await waitUntil("the next rotation", 60_000, async () => (await rotationsOf(directory)) > before + 1, 100);
    }
    figure("deaths between two steps of a rotation", DEATHS, "");
    await waitUntil("compression", 60_000, async () => {
      const { inUse } = rotatedLogs("0.log", await readdir(directory));
      return inUse.slice(0, -2).every(({ isCompressed }) => isCompressed);
    });
    assert.deepEqual(gapsIn(numbersIn(await partsOf(directory))), []);
    await end("dying");
  });

  test("[19.2] logs on a full disk are rotated and readable, and no partly compressed file is left; rotation and compression resume once there is space", async () => {
    await inNode("mount", "-t", "tmpfs", "-o", `size=${DISK_MIB}m`, "tmpfs", "/var/log/pods");
    const { pid } = agent();
    await begin(podOn(node.name, "quiet", { containers: [sh("echo one; echo two; sleep 1000")] }), "main");
    const directory = await begin(loudPodOfNoise("noise", node.name, { perTurn: 10, pauseMs: 50 }), "app");
    await waitUntil("compressed parts", 60_000, async () => (await rotationsOf(directory)) >= 3, 100);

    // No rotation happens while the log takes all remaining space, so the resumed agent finds none.
    await agent().pause();
    await inNode("dd", "if=/dev/zero", "of=/var/log/pods/filler", "bs=1M", `count=${FILLED_MIB}`);
    await waitUntil("a full disk", 60_000, async () => (await availableBytes("/var/log/pods")) === 0, 100);
    const written = numbersIn(await partsOf(directory)).at(-1) ?? assert.fail("something was written");
    const rotated = await rotationsOf(directory);
    await agent().resume();
    await waitUntil("a rotation without room", 30_000, async () => (await rotationsOf(directory)) > rotated, 50);
    const trouble =
      /Failed to compress a rotated container log; the log stays uncompressed.*(ENOSPC|noSpace|no space)/i;
    await waitUntil("its word", 30_000, async () => trouble.test(await readFile(agent().logFile, "utf8")), 100);
    for (let looks = 0; looks < 10; looks += 1) {
      assert.equal(await cluster.kubectl("logs", "quiet"), "one\ntwo\n");
      await cluster.kubectl("logs", "noise", "--tail=3");
      await partsOf(directory);
      await pause(200);
    }
    assert.deepEqual(
      (await readdir(directory)).filter((name) => name.endsWith(".tmp")),
      [],
    );
    assert.ok((await agent().isAlive()) && agent().pid === pid, "no new start");

    await inNode("rm", "/var/log/pods/filler");
    const newest = async () => numbersIn((await partsOf(directory)).slice(-1)).at(-1) ?? 0;
    await waitUntil("lines again", 30_000, async () => (await newest()) > written, 50);
    const again = await newest();
    const since = await rotationsOf(directory);
    await waitUntil("rotations again", 60_000, async () => (await rotationsOf(directory)) >= since + 2, 100);
    await waitUntil("compression again", 60_000, async () => {
      const { inUse } = rotatedLogs("0.log", await readdir(directory));
      return inUse.slice(0, -2).every(({ isCompressed }) => isCompressed);
    });
    const numbers = numbersIn(await partsOf(directory));
    const between = numbers.filter((number) => number > written && number < again);
    figure("lines that the runtime could not write", again - written - 1 - between.length, "lines");
    assert.deepEqual(gapsIn(numbers.filter((number) => number <= written)), []);
    assert.equal(numbers[0], 1);
    assert.deepEqual(gapsIn(numbers.filter((number) => number >= again)), []);
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      numbers,
      "in order, and none twice",
    );
    assert.equal(new Set(numbers).size, numbers.length);
    assert.ok((await agent().isAlive()) && agent().pid === pid, "no new start");
    for (const name of ["quiet", "noise"]) await end(name);
  });

  test("an agent whose root disk is full keeps running pods and starts no new pod until there is space", async () => {
    const root = "/var/lib/small";
    await inNode("mkdir", root);
    await inNode("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", root);
    await cluster.changeAgent(node.name, "deckhand", { configuration, flags: [`--root-dir=${root}`] });
    await pods.create(podOn(node.name, "stays", { containers: [SLEEPER] }));
    const { status } = await pods.running("stays");
    const { pid } = agent();
    // Fills the disk to the last byte.
    await node.run("sh", "-c", `cat /dev/zero > ${root}/filler`);
    assert.equal(await availableBytes(root), 0);
    await pods.create(podOn(node.name, "waits", { containers: [SLEEPER] }));
    await pause(10_000);
    assert.ok((await agent().isAlive()) && agent().pid === pid, "no new start");
    assert.notEqual(pods.latest("waits")?.status?.phase, "Running");
    assert.equal(await cluster.kubectl("exec", "stays", "--", "echo", "still here"), "still here\n");
    await cluster.kubectl("logs", "stays");
    await inNode("rm", `${root}/filler`);
    await pods.running("waits");
    assert.ok((await agent().isAlive()) && agent().pid === pid, "no new start");
    await agent().restart();
    await waitUntil("an answer of the next life", 60_000, async () =>
      (await cluster.kubectl("exec", "stays", "--", "echo", "still here")).includes("still here"),
    );
    const [before, now] = [status, pods.latest("stays")?.status].map((one) => one?.containerStatuses?.[0]?.containerID);
    assert.equal(now, before, "what the journal says was whole");
    for (const name of ["stays", "waits"]) await end(name);
  });
});

async function availableBytes(path: string): Promise<number> {
  return Number((await inNode("stat", "-f", "-c", "%a", path)).trim());
}

/** Container logs as users read them, on a node of the Go kubelet's and one of Deckhand's: the same pods, the same answers, byte by byte. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";
import { TestCertificates } from "../support/test-certificates.ts";
import { LineFollower } from "./container-logs/line-follower.ts";
import { HEARD, logPods, loudPod } from "./container-logs/log-pods.ts";
import { watchSizes } from "./container-logs/watch-sizes.ts";

const MIB = 1024 * 1024;
/** Of one log; the writer is as fast as it must be for the whole size. */
const LIMIT_BYTES = (wholeSize() ? 50 : 4) * MIB;
/** On a machine that many share a moment may pass before anybody looks; the small log has little room for it. */
const LIMIT_SLACK = wholeSize() ? 1.1 : 1.25;
const ROTATIONS = wholeSize() ? 20 : 4;
const FILES_MAX = 4;
const LINE_BYTES_MIN = 1_000;

let cluster: Cluster;
let go: ClusterNode;
let own: ClusterNode;
let folder: string;

/** A namespace for each node, so that pods can have the same names: they are part of the answers. */
const namespaceOf = (node: ClusterNode) => `on-${node.agent}`;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "container-logs-"));
  const [tlsCertFile, tlsPrivateKeyFile] = [join(folder, "serving.crt"), join(folder, "serving.key")];
  await using made = await TestCertificates.in();
  const { certificatePem, keyPem } = await made.selfSigned({ subject: "/CN=node" });
  await writeFile(tlsCertFile, certificatePem);
  await writeFile(tlsPrivateKeyFile, keyPem);
  const limits = { containerLogMaxSize: String(LIMIT_BYTES), containerLogMaxFiles: FILES_MAX };
  cluster = await startCluster({
    controlPlane: "full",
    nodes: [
      { agent: "go" },
      { agent: "deckhand", options: { configuration: { tlsCertFile, tlsPrivateKeyFile, ...limits } } },
    ],
  });
  [go, own] = cluster.nodes as [ClusterNode, ClusterNode];
  await Promise.all(
    [go, own].map(async (node) => {
      const inNamespace = (...args: readonly string[]) => cluster.kubectl("-n", namespaceOf(node), ...args);
      await cluster.kubectl("create", "namespace", namespaceOf(node));
      const account = async () => (await inNamespace("get", "serviceaccounts", "-o", "name")).includes("default");
      await waitUntil("its service account", 60_000, account, 200);
      await apply(node, ...logPods(node.name));
      await settled(node);
    }),
  );
});

after(async () => {
  await cluster.down();
  await rm(folder, { recursive: true });
});

async function apply(node: ClusterNode, ...items: readonly object[]): Promise<void> {
  const file = join(folder, `${Math.random().toString(36).slice(2)}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await cluster.kubectl("-n", namespaceOf(node), "apply", "-f", file);
}

/** Every pod has come as far as it will, and has said all that it says. */
async function settled(node: ClusterNode): Promise<void> {
  const state = (pod: string) =>
    cluster.kubectl("-n", namespaceOf(node), "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0]}");
  const wanted: readonly (readonly [string, RegExp])[] = [
    ["done", /"reason":"Completed"/],
    ["again", /"restartCount":1.*"running"/],
    ["unpulled", /ImagePullBackOff/],
    ["creating", /ContainerCreating/],
    ["silent", /"running"/],
  ];
  for (const [pod, text] of wanted) {
    await waitUntil(`${pod} on ${node.name}`, 90_000, async () => text.test(await state(pod)), 500);
  }
  const whole: readonly (readonly [string, string, RegExp])[] = [
    ["talk", "app", /three/],
    ["talk", "side", /\b500\b/],
    ["bytes", "app", /odd\n[^\n]+ F \n/],
  ];
  for (const [pod, container, text] of whole) {
    await waitUntil(`all of ${pod}`, 60_000, async () => text.test(await fileOf(node, pod, container)), 500);
  }
}

async function logFolder(node: ClusterNode, pod: string, container = "app"): Promise<string> {
  const namespace = namespaceOf(node);
  const uid = await cluster.kubectl("-n", namespace, "get", "pod", pod, "-o", "jsonpath={.metadata.uid}");
  return node.inside(`/var/log/pods/${namespace}_${pod}_${uid}/${container}`);
}

const fileOf = async (node: ClusterNode, pod: string, container: string) =>
  readFile(join(await logFolder(node, pod, container), "0.log"), "latin1");

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/** Through the API server's proxy, as `kubectl get --raw` does, which shows no status. */
async function ask(node: ClusterNode, rest: string): Promise<Answer> {
  const { url, caFile, adminCertFile, adminKeyFile } = cluster.api;
  const [ca, cert, key] = await Promise.all([readFile(caFile), readFile(adminCertFile), readFile(adminKeyFile)]);
  const target = `${url}/api/v1/nodes/${node.name}/proxy/containerLogs/${namespaceOf(node)}/${rest}`;
  return new Promise((resolve, reject) => {
    const sent = request(target, { ca, cert, key }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts) }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end();
  });
}

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d)/g;
const ID = /containerd:\/\/[0-9a-f]{64}/g;
/** Without what must differ: moments, and ids of containers. */
const shape = ({ status, body }: Answer) =>
  `${status} ${body.toString("latin1").replaceAll(TIME, "TIME").replaceAll(ID, "ID")}`;

const logs = (...args: readonly string[]) => cluster.kubectl("-n", namespaceOf(own), "logs", ...args);

const QUERIES: readonly string[] = [
  "talk/app",
  "talk/app?timestamps=true",
  "talk/app?tailLines=2",
  "talk/app?tailLines=2&timestamps=1",
  "talk/app?tailLines=0",
  "talk/app?tail=1",
  "talk/app?tail=all",
  "talk/app?tail=all&tailLines=1",
  "talk/app?limitBytes=5",
  "talk/app?limitBytes=40&timestamps=true",
  "talk/app?sinceSeconds=100000",
  "talk/app?sinceTime=2020-01-01T00:00:00Z",
  "talk/app?sinceTime=2100-01-01T00:00:00Z",
  "talk/app?sinceTime=2020-01-01T00:00:00.5%2B01:00&tailLines=3",
  "talk/side",
  "talk/side?tailLines=100",
  "talk/side?tailLines=100&limitBytes=20",
  "bytes/app",
  "bytes/app?timestamps=true",
  "bytes/app?tailLines=3",
  "done/app",
  "done/app?follow=true",
  "done/app?follow=true&tailLines=0",
  "silent/app",
  "again/app",
  "again/app?previous=true",
  "again/app?previous=true&follow=true&timestamps=true",
];

const REFUSED: readonly string[] = [
  "talk/app?tailLines=-1",
  "talk/app?tailLines=x",
  "talk/app?tail=x",
  "talk/app?limitBytes=0",
  "talk/app?sinceSeconds=0",
  "talk/app?sinceTime=x",
  "talk/app?sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z",
  "talk/app?stream=Stdout",
  "talk/app?stream=Stderr",
  "talk/app?stream=stdout",
  "talk/app?stream=Stdout&tailLines=1",
  "talk/app?previous=true",
  "done/app?previous=true",
  "talk/none",
  "none/app",
  "creating/app",
  "creating/app?previous=true",
];

void suite("container logs", () => {
  test("[19.3][19.4][20.11] every way of asking is answered as the Go kubelet answers it, byte by byte", async () => {
    for (const query of QUERIES) {
      const [theirs, ours] = [await ask(go, query), await ask(own, query)];
      assert.equal(shape(ours), shape(theirs), query);
      assert.equal(theirs.status, 200, query);
    }
    assert.equal((await ask(own, "talk/app?stream=All")).status, (await ask(go, "talk/app?stream=All")).status);
  });

  test("[19.4][19.5] what is refused is refused with the Go kubelet's status and words", async () => {
    for (const query of REFUSED) {
      const [theirs, ours] = [await ask(go, query), await ask(own, query)];
      assert.equal(shape(ours), shape(theirs), query);
      assert.notEqual(theirs.status, 200, query);
    }
    // Each agent tries again and again, and says for a moment that it could not: what it says in between is waited for.
    const text = '400 container "app" in pod "unpulled" is waiting to start: trying and failing to pull image';
    for (const node of [go, own]) {
      await waitUntil(`${node.agent} to wait`, 60_000, async () => shape(await ask(node, "unpulled/app")) === text);
    }
  });

  test("[19.4] a log that is gone, and one that is none, are told as the Go kubelet tells them, after the answer has begun", async () => {
    for (const node of [go, own]) {
      await writeFile(join(await logFolder(node, "done"), "0.log"), "root:x:0:0 is no log\n");
    }
    assert.equal(shape(await ask(own, "done/app")), shape(await ask(go, "done/app")));
    assert.match(shape(await ask(own, "done/app")), /^200 failed to get parse function: unsupported log format: "root/);
  });

  test("[7.24] [19.4] kubectl logs with its flags", async () => {
    assert.equal(await logs("talk", "-c", "app"), "one\ntwo\nthree\n");
    assert.equal(await logs("talk", "-c", "app", "--tail=2"), "two\nthree\n");
    assert.equal(await logs("talk", "-c", "app", "--limit-bytes=7"), "one\ntwo");
    assert.match(await logs("talk", "-c", "app", "--timestamps"), /^\d{4}-\S+Z one\n\d{4}-\S+Z two\n/);
    assert.equal(await logs("talk", "-c", "app", "--since=1000h"), "one\ntwo\nthree\n");
    assert.equal(await logs("talk", "-c", "app", "--since-time=2100-01-01T00:00:00Z"), "");
    assert.equal(await logs("again", "--previous"), "first\n");
    const all = await logs("talk", "--all-containers", "--prefix", "--tail=2");
    assert.match(all, /^\[pod\/talk\/app\] three$/m);
    assert.match(all, /^\[pod\/talk\/side\] 500$/m);
    const chosen = ["-l", "reads=logs", "--all-containers", "--ignore-errors", "--follow"];
    await assert.rejects(logs(...chosen, "--max-log-requests=2"), /maximum allowed concurrency is 2/);
    await assert.rejects(logs("unpulled"), /container "app" in pod "unpulled" is waiting to start/);
    await assert.rejects(logs("talk", "-c", "none"), /container none is not valid for pod talk/);
  });

  test("[19.2][19.4] a follower sees every line of a fast writer over all rotations, and the log keeps to its limit", async () => {
    const lines = Math.ceil((LIMIT_BYTES * (ROTATIONS + 0.5)) / LINE_BYTES_MIN);
    await apply(own, loudPod("loud", own.name, { lines, perTurn: wholeSize() ? 120 : 40, waitsToBeHeard: true }));
    const path = await logFolder(own, "loud");
    await cluster.kubectl("-n", namespaceOf(own), "wait", "pod/loud", "--for=condition=Ready", "--timeout=60s");
    const watched = watchSizes(path);
    const follower = new LineFollower(cluster, "-n", namespaceOf(own), "loud");
    await waitUntil("the follower to hear of it", 60_000, async () => follower.next > 1);
    await cluster.kubectl("-n", namespaceOf(own), "exec", "loud", "--", "touch", HEARD);
    const startedMs = performance.now();
    await follower.ended;
    const seconds = (performance.now() - startedMs) / 1000;
    const { largest, most, parts } = await watched.end();
    assert.equal(follower.trouble, undefined);
    assert.equal(follower.next - 1, lines);
    figure("rotations", parts.size, "");
    figure("written", (lines * LINE_BYTES_MIN) / seconds / 1e6, "MB/s");
    figure("largest log", largest / LIMIT_BYTES, "of its limit");
    figure("all parts together", most / (FILES_MAX * LIMIT_BYTES), "of their limit");
    assert.ok(parts.size >= ROTATIONS, `${parts.size} rotations`);
    assert.ok(largest <= LIMIT_BYTES * LIMIT_SLACK, `${largest} bytes in one log`);
    assert.ok(most <= FILES_MAX * LIMIT_BYTES * LIMIT_SLACK, `${most} bytes in all`);
  });

  test("[19.2] of what was rotated the newest is plain and the others are compressed, no more than were asked for, and each is whole", async () => {
    const path = await logFolder(own, "loud");
    const names = async () => (await readdir(path)).sort();
    await waitUntil(
      "compression",
      30_000,
      async () => (await names()).filter((name) => name.endsWith(".gz")).length === 2,
    );
    const found = await names();
    assert.equal(found.length, 4);
    const [first = "", second = "", current = "", ...others] = [
      ...found.filter((name) => name.endsWith(".gz")),
      ...found.filter((name) => !name.endsWith(".gz")),
    ];
    for (const name of [first, second]) assert.match(name, /^0\.log\.\d{8}-\d{6}\.gz$/);
    assert.equal(current, "0.log");
    assert.match(others.join(), /^0\.log\.\d{8}-\d{6}$/);
    const whole = await Promise.all(
      [first, second, others.join(), current].map(async (name) => {
        const bytes = await readFile(join(path, name));
        return (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("latin1");
      }),
    );
    const written = whole
      .join("")
      .trimEnd()
      .split("\n")
      .map((line) => Number(line.split(" ")[3]));
    const [start = 0] = written;
    assert.deepEqual(
      written,
      Array.from(written, (_, index) => start + index),
      "no line is missing between them",
    );
    const mode = (await stat(join(path, first))).mode & 0o777;
    assert.equal(mode, (await stat(join(path, current))).mode & 0o777);
  });
});

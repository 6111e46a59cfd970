/**
 * Container logs as users read them: for the same pods Deckhand returns the recorded answers of the Go kubelet, byte
 * for byte.
 */
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
import { Recording } from "../golden/recording.ts";
import { comparisonMode, deckhandTest, NODES, SIDES, type Side } from "../golden/sides.ts";
import { wholeSize } from "../size.ts";
import { TestCertificates } from "../support/test-certificates.ts";
import { LineFollower } from "./container-logs/line-follower.ts";
import { HEARD, logPods, loudPod } from "./container-logs/log-pods.ts";
import { watchSizes } from "./container-logs/watch-sizes.ts";

const MIB = 1024 * 1024;
/** The limit of one log; at whole size the writer writes faster to match. */
const LIMIT_BYTES = (wholeSize() ? 50 : 4) * MIB;
/**
 * On a shared machine some time may pass before the agent checks a log; the small limit leaves little margin for that.
 */
const LIMIT_SLACK = wholeSize() ? 1.1 : 1.25;
const ROTATIONS = wholeSize() ? 20 : 4;
const FILES_MAX = 4;
const LINE_BYTES_MIN = 1_000;

const recording = Recording.open("container-logs");
let cluster: Cluster;
let directory: string;

const nodeOf = (side: Side): ClusterNode =>
  cluster.nodes.find(({ name }) => name === NODES[side]) ?? assert.fail(`no node for ${side}`);

/** One namespace per node, so that pods can have the same names, which are part of the answers. */
const namespaceOf = (node: ClusterNode) => `on-${node.name}`;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "container-logs-"));
  const [tlsCertFile, tlsPrivateKeyFile] = [join(directory, "serving.crt"), join(directory, "serving.key")];
  await using made = await TestCertificates.in();
  const { certificatePem, keyPem } = await made.selfSigned({ subject: "/CN=node" });
  await writeFile(tlsCertFile, certificatePem);
  await writeFile(tlsPrivateKeyFile, keyPem);
  const limits = { containerLogMaxSize: String(LIMIT_BYTES), containerLogMaxFiles: FILES_MAX };
  const options = { configuration: { tlsCertFile, tlsPrivateKeyFile, ...limits } };
  cluster = await startCluster({
    controlPlane: "full",
    nodes: SIDES.map((agent) => (agent === "go" ? { agent } : { agent, options })),
  });
  await Promise.all(
    cluster.nodes.map(async (node) => {
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
  await rm(directory, { recursive: true });
});

async function apply(node: ClusterNode, ...items: readonly object[]): Promise<void> {
  const file = join(directory, `${Math.random().toString(36).slice(2)}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await cluster.kubectl("-n", namespaceOf(node), "apply", "-f", file);
}

/** Waits until every pod has reached its final state and written all of its output. */
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
  await Promise.all(
    wanted.map(([pod, text]) =>
      waitUntil(`${pod} on ${node.name}`, 90_000, async () => text.test(await state(pod)), 500),
    ),
  );
  const whole: readonly (readonly [string, string, RegExp])[] = [
    ["talk", "app", /three/],
    ["talk", "side", /\b500\b/],
    ["bytes", "app", /odd\n[^\n]+ F \n/],
  ];
  for (const [pod, container, text] of whole) {
    await waitUntil(`all of ${pod}`, 60_000, async () => text.test(await fileOf(node, pod, container)), 500);
  }
}

async function logDirectory(node: ClusterNode, pod: string, container = "app"): Promise<string> {
  const namespace = namespaceOf(node);
  const uid = await cluster.kubectl("-n", namespace, "get", "pod", pod, "-o", "jsonpath={.metadata.uid}");
  return node.inside(`/var/log/pods/${namespace}_${pod}_${uid}/${container}`);
}

const fileOf = async (node: ClusterNode, pod: string, container: string) =>
  readFile(join(await logDirectory(node, pod, container), "0.log"), "latin1");

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/** Queries through the API server's proxy, as `kubectl get --raw` does, which does not show the status code. */
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
/** The beginning of a second timestamp, where a byte limit cuts the answer. */
const CUT_TIME = /(?<=\n)\d{4}-$/;
const ID = /containerd:\/\/[0-9a-f]{64}/g;
/** A character that is repeated at least 100 times; written with its count. */
const RUN = /(.)\1{99,}/gs;
/** The answer without what must differ: times, and container IDs. */
const shape = ({ status, body }: Answer) => {
  const text = body.toString("latin1").replaceAll(TIME, "TIME").replace(CUT_TIME, "YEAR-").replaceAll(ID, "ID");
  return `${status} ${text.replaceAll(RUN, (run) => `<${run[0]} ${run.length} times>`)}`;
};

/** Asserts that the answer is the Go kubelet's, and that its status code is as expected on every side. */
const check = (query: string, isExpected: (status: number) => boolean): Promise<void> =>
  recording.check(query, async (side) => {
    const answer = await ask(nodeOf(side), query);
    assert.ok(isExpected(answer.status), `${side} ${query}: ${shape(answer)}`);
    return shape(answer);
  });

const own = (): ClusterNode => nodeOf("deckhand");
const logs = (...args: readonly string[]) => cluster.kubectl("-n", namespaceOf(own()), "logs", ...args);

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

const REJECTED: readonly string[] = [
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
  test("[19.3][19.4][20.11] every log query returns the Go kubelet's answer, byte for byte", async () => {
    for (const query of QUERIES) await check(query, (status) => status === 200);
    await recording.check(
      "talk/app?stream=All",
      async (side) => (await ask(nodeOf(side), "talk/app?stream=All")).status,
    );
  });

  test("[19.4][19.5] a rejected log query returns the Go kubelet's status code and message", async () => {
    for (const query of REJECTED) await check(query, (status) => status !== 200);
    // Each agent retries the pull and briefly reports each failed attempt. The test waits for the answer in between.
    const text = '400 container "app" in pod "unpulled" is waiting to start: trying and failing to pull image';
    for (const side of SIDES) {
      const isWaiting = async () => shape(await ask(nodeOf(side), "unpulled/app")) === text;
      await waitUntil(`${side} to wait`, 60_000, isWaiting);
    }
  });

  test("[19.4] a file that is no log gives the Go kubelet's error after the response has begun", async () => {
    for (const side of SIDES) {
      await writeFile(join(await logDirectory(nodeOf(side), "done"), "0.log"), "root:x:0:0 is no log\n");
    }
    await recording.check("done/app, which is no log", async (side) => {
      const answer = shape(await ask(nodeOf(side), "done/app"));
      assert.match(answer, /^200 failed to get parse function: unsupported log format: "root/);
      return answer;
    });
    if (comparisonMode !== "record") figure("values compared", recording.compared, "values");
  });

  deckhandTest("[7.24] [19.4] kubectl logs with its flags", async () => {
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

  deckhandTest(
    "[19.2][19.4] a follower reads every line of a fast writer over all rotations, and the log stays within its limit",
    async () => {
      const lines = Math.ceil((LIMIT_BYTES * (ROTATIONS + 0.5)) / LINE_BYTES_MIN);
      await apply(own(), loudPod("loud", own().name, { lines, perTurn: wholeSize() ? 120 : 40, waitsToBeHeard: true }));
      const path = await logDirectory(own(), "loud");
      await cluster.kubectl("-n", namespaceOf(own()), "wait", "pod/loud", "--for=condition=Ready", "--timeout=60s");
      const watched = watchSizes(path);
      const follower = new LineFollower(cluster, "-n", namespaceOf(own()), "loud");
      await waitUntil("the follower to hear of it", 60_000, async () => follower.next > 1);
      await cluster.kubectl("-n", namespaceOf(own()), "exec", "loud", "--", "touch", HEARD);
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
    },
  );

  deckhandTest(
    "[19.2] the newest rotated log is uncompressed, older ones are compressed, at most containerLogMaxFiles remain, and each is complete",
    async () => {
      const path = await logDirectory(own(), "loud");
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
    },
  );
});

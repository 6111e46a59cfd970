/**
 * A Deckhand node that works for long: pods come and go, a log is rotated, files are edited, and users query the node,
 * read and follow logs, run commands and forward ports. What the agent holds after a garbage collection must not grow.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { AGNHOST_IMAGE } from "../cluster/images.ts";
import { DECKHAND_MAIN } from "../cluster/node.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";
import { podOn, SLEEPER, sh } from "../support/cluster-pods.ts";
import { NodeCaller } from "../support/node-caller.ts";
import { NodeStream, readAndLeave } from "../support/node-streams.ts";
import { rawApi } from "../support/raw-api.ts";
import { probeAddress, probeFiles, type ResourceSample } from "../support/resource-probe.ts";
import { growth, type Measure, mean, type Probed, readProbe, rise } from "../support/resource-samples.ts";
import type { Identity } from "../support/test-certificates.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/**
 * What is compiled, cached and pooled at first is no leak. The agent remembers some thousand Events, as many as a
 * thousand pods produce.
 */
const SIZE = wholeSize()
  ? { warmUpMs: 20 * MINUTE_MS, lastsMs: 20 * MINUTE_MS + HOUR_MS, sampleEveryMs: 10_000 }
  : { warmUpMs: 25_000, lastsMs: 65_000, sampleEveryMs: 2_000 };
const POD_EVERY_MS = 2_000;
const ASK_EVERY_MS = 2_000;
const LIVING_MAX = 6;
const MB = 1e6;
const HEAP_GROWTH_BYTES_MAX = 5 * MB;

let cluster: Cluster;
let node: ClusterNode;
let directory: string;
let identity: Identity;
let api: Awaited<ReturnType<typeof rawApi>>;

const probeFile = () => join(directory, "resources");

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "deckhand-soak-"));
  const probe = `--import=${probeAddress(probeFile(), SIZE.sampleEveryMs)}`;
  cluster = await startCluster({
    controlPlane: "full",
    nodes: [
      {
        agent: "deckhand",
        options: {
          deckhand: [process.execPath, "--expose-gc", probe, DECKHAND_MAIN],
          configuration: { containerLogMaxSize: "200Ki", containerLogMaxFiles: 3 },
        },
      },
    ],
  });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  api = await rawApi(cluster);
  const { adminCertFile, adminKeyFile } = cluster.api;
  identity = {
    certificatePem: await readFile(adminCertFile, "utf8"),
    keyPem: await readFile(adminKeyFile, "utf8"),
  };
  await sent("POST", "configmaps", { metadata: { name: "edited" }, data: { edit: "0" } });
  await sent("POST", "pods", talker());
  await sent(
    "POST",
    "pods",
    podOn(node.name, "serve", { containers: [{ name: "main", image: AGNHOST_IMAGE, args: ["netexec"] }] }),
  );
  for (const name of ["talker", "serve"]) {
    await waitUntil(`${name} to run`, 60_000, async () => (await phaseOf(name)) === "Running", 200);
  }
});

after(async () => {
  await cluster.down();
  await rm(directory, { recursive: true });
});

async function sent(method: string, path: string, body?: unknown): Promise<unknown> {
  const { status, body: answer } = await api(method, `/api/v1/namespaces/default/${path}`, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(answer)}`);
  return answer;
}

const phaseOf = async (name: string) => ((await sent("GET", `pods/${name}`)) as Pod).status?.phase;

/** Prints a thousand bytes ten times a second, so that its log is rotated three times a minute. */
const talker = () =>
  podOn(node.name, "talker", {
    containers: [sh("line=$(head -c 1000 /dev/zero | tr '\\0' x); while :; do echo $line; sleep 0.1; done")],
  });

/**
 * The kinds of pod, used in turn: plain, with files that change, failing and restarted, completing, and with an init
 * container and probes.
 */
const KINDS: readonly ((name: string) => Pod)[] = [
  (name) => podOn(node.name, name, { containers: [SLEEPER] }),
  (name) =>
    podOn(node.name, name, {
      automountServiceAccountToken: true,
      containers: [{ ...SLEEPER, volumeMounts: [{ name: "files", mountPath: "/files" }] }],
      volumes: [{ name: "files", configMap: { name: "edited" } }],
    }),
  (name) => podOn(node.name, name, { containers: [sh("sleep 1; exit 1")] }),
  (name) => podOn(node.name, name, { restartPolicy: "Never", containers: [sh("echo done")] }),
  (name) =>
    podOn(node.name, name, {
      initContainers: [sh("true", "first")],
      containers: [
        {
          ...SLEEPER,
          readinessProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
          livenessProbe: { exec: { command: ["true"] }, periodSeconds: 2 },
        },
      ],
    }),
];

/** Until `over`: creates pods and deletes the oldest, which must have run first. */
async function churn(over: AbortSignal): Promise<number> {
  const living: string[] = [];
  let made = 0;
  for (; !over.aborted; made += 1) {
    const name = `soak-${made}`;
    await sent("POST", "pods", KINDS[made % KINDS.length]?.(name));
    living.push(name);
    const data = { data: { edit: String(made) } };
    await sent("PUT", "configmaps/edited", { metadata: { name: "edited" }, ...data });
    const oldest = living.length > LIVING_MAX ? living.shift() : undefined;
    if (oldest !== undefined) {
      await waitUntil(`${oldest} to have run`, 60_000, async () => (await phaseOf(oldest)) !== "Pending", 500);
      await sent("DELETE", `pods/${oldest}`);
    }
    await pause(POD_EVERY_MS);
  }
  for (const name of living) await sent("DELETE", `pods/${name}`);
  return made;
}

const ANSWERS = ["/metrics", "/metrics/cadvisor", "/metrics/resource", "/metrics/probes", "/stats/summary", "/pods"];

/**
 * Until `over`: sends every kind of request to the node. Streams are closed alternately with a close frame and without
 * one.
 */
async function ask(over: AbortSignal): Promise<number> {
  using caller = new NodeCaller({ host: node.address, port: 10_250, identity });
  const { address: host } = node;
  let rounds = 0;
  for (; !over.aborted; rounds += 1) {
    const how = rounds % 2 === 0 ? "politely" : "at once";
    for (const path of ANSWERS) assert.equal((await caller.ask(path)).status, 200, path);
    const read = await caller.ask("/containerLogs/default/talker/main?tailLines=10");
    // Right after a rotation the log has fewer lines.
    assert.ok(read.status === 200 && read.body.split("\n").length <= 11, read.body);
    assert.ok((await readAndLeave({ host, identity, path: "/containerLogs/default/talker/main?follow=true" })) > 0);
    const exec = await NodeStream.open({
      host,
      identity,
      path: "/exec/default/talker/main?command=cat&input=1&output=1",
    });
    exec.send(0, "a word to the pod\n");
    await exec.hears("a word to the pod\n");
    exec.end(how);
    const ends = await NodeStream.open({ host, identity, path: "/exec/default/talker/main?command=true&output=1" });
    await ends.hears('"Success"');
    ends.end(how);
    const path = "/portForward/default/serve?port=8080";
    const forward = await NodeStream.open({ host, identity, path }, "v4.channel.k8s.io");
    forward.send(0, "GET /echo?msg=through-the-port HTTP/1.0\r\n\r\n");
    await forward.hears("through-the-port");
    forward.end(how);
    await pause(ASK_EVERY_MS);
  }
  return rounds;
}

/** The allowed rise after the warm-up: what the work of a moment needs. */
const RISE_MAX: Readonly<Partial<Record<Measure, number>>> = {
  descriptors: 10,
  timers: 15,
  handles: 10,
  abortListeners: 40,
};

const settledSamples = ({ samples }: Probed): readonly ResourceSample[] => {
  const beginMs = (samples[0]?.atMs ?? 0) + SIZE.warmUpMs;
  return samples.filter(({ atMs }) => atMs >= beginMs);
};

void suite("a long run", () => {
  test("[scenario 48] heap, descriptors, timers and listeners stay level under constant pod churn and requests", async () => {
    const agent = cluster.component(`kubelet@${node.name}`);
    const { pid } = agent;
    const over = new AbortController();
    const failed = (error: unknown) => {
      over.abort();
      throw error;
    };
    const work = Promise.all([churn(over.signal).catch(failed), ask(over.signal).catch(failed)]);
    const timer = setTimeout(() => over.abort(), SIZE.lastsMs);
    const [made, rounds] = await work.finally(() => clearTimeout(timer));
    assert.ok((await agent.isAlive()) && agent.pid === pid, "the process is the same");
    figure("pods that came and went", made, "pods");
    figure("rounds of questions and streams", rounds, "rounds");

    const { main, thread } = probeFiles(probeFile());
    for (const [name, file] of [
      ["the agent", main],
      ["its thread for figures", thread],
    ] as const) {
      const probed = await readProbe(file);
      assert.deepEqual(probed.faults, [], `${name}: no rejection unhandled, no error uncaught`);
      report(name, settledSamples(probed));
      judge(name, settledSamples(probed));
    }
    const said = await readFile(agent.logFile, "utf8");
    assert.doesNotMatch(said, /MaxListenersExceededWarning|unhandled/i);
  });

  test("[scenario 48] the assertions fail for the same samples with a slow leak added", async () => {
    const samples = settledSamples(await readProbe(probeFile()));
    const [first] = samples;
    const last = samples.at(-1);
    assert.ok(first !== undefined && last !== undefined);
    const leak = (bytes: number) =>
      samples.map((sample) => ({
        ...sample,
        heapBytes: sample.heapBytes + (bytes * (sample.atMs - first.atMs)) / (last.atMs - first.atMs),
      }));
    assert.throws(() => judge("a leak", leak(2 * HEAP_GROWTH_BYTES_MAX)), /its heap grew/);
    const listening = samples.map((sample, index) => ({
      ...sample,
      abortListeners: sample.abortListeners + index * 10,
    }));
    assert.throws(() => judge("a leak", listening), /abortListeners rose/);
  });
});

const spanOf = (samples: readonly ResourceSample[]) => (samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0);
const rounded = (value: number) => Math.round(value * 100) / 100;

function report(name: string, samples: readonly ResourceSample[]): void {
  const of = (measure: Measure) => samples.map((sample) => sample[measure]);
  const grown = (measure: Measure) => rounded(growth(samples, measure, spanOf(samples)) / MB);
  figure(`${name}: measured after the warm-up`, rounded(spanOf(samples) / MINUTE_MS), "min");
  figure(`${name}: heap after collection, mean`, rounded(mean(of("heapBytes")) / MB), "MB");
  figure(`${name}: heap after collection, growth in that time`, grown("heapBytes"), "MB");
  figure(`${name}: buffers outside the heap, growth in that time`, grown("buffersBytes"), "MB");
  figure(`${name}: resident, first`, rounded((of("residentBytes")[0] ?? 0) / MB), "MB");
  figure(`${name}: resident, last`, rounded((of("residentBytes").at(-1) ?? 0) / MB), "MB");
  for (const measure of Object.keys(RISE_MAX) as readonly Measure[]) {
    figure(`${name}: ${measure}, mean`, rounded(mean(of(measure))), "");
    figure(`${name}: ${measure}, rise`, rise(samples, measure), "");
  }
}

function judge(name: string, samples: readonly ResourceSample[]): void {
  assert.ok(samples.length >= 10, `${samples.length} samples of ${name}`);
  const [heap, buffers] = (["heapBytes", "buffersBytes"] as const).map((of) => growth(samples, of, spanOf(samples)));
  assert.ok((heap ?? Number.NaN) <= HEAP_GROWTH_BYTES_MAX, `${name}: its heap grew by ${heap} bytes`);
  assert.ok((buffers ?? Number.NaN) <= HEAP_GROWTH_BYTES_MAX, `${name}: its buffers grew by ${buffers} bytes`);
  for (const [measure, most] of Object.entries(RISE_MAX)) {
    const rose = rise(samples, measure as Measure);
    assert.ok(rose <= most, `${name}: ${measure} rose by ${rose}`);
  }
}

/**
 * Shortages of a whole machine's memory, in a guest: how long either agent takes from the crossing of the threshold to
 * its decision and to the pod's status, while memory is allocated as fast as emulation allows; and soft thresholds.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { type Cluster, startCluster } from "../../cluster/cluster.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { figure } from "../../figures.ts";
import type { Payloads } from "../../guest/disks.ts";
import type { Guest } from "../../guest/guest.ts";
import { resumeGuest } from "../../guest/guests.ts";
import { ClusterPods, conditionOf, isRunning, podOn, sh } from "../../support/cluster-pods.ts";
import { withoutSizes } from "../../support/evictions.ts";
import { type Agent, DECKHAND_PROGRAM, deckhandPayloads, launchAgent, stopAgent } from "../../support/guest-agents.ts";
import { GUEST_NODE, makeNode, NODE_FLAGS } from "../../support/guest-node.ts";

const MIB = 2 ** 20;
const THRESHOLD_BYTES = 1024 * MIB;
/** What is left above the threshold before the burst, and what the burst takes at once. */
const LEFT_BYTES = 192 * MIB;
const BURST_BYTES = 512 * MIB;
const LIMIT_MS = 10 * 60_000;
const DECISION_MS_MAX = 1_500;
const SOFT_GRACE_MS = 10_000;
const POD_GRACE_SECONDS = 5;
const SIGNALS = "/var/lib/pressure";
const SAMPLES = "/var/lib/pressure/samples";

/** As the kubelet computes it. One line per sample: wall time in ms, available bytes. */
const SAMPLER = `
const { readFileSync, appendFileSync } = require("node:fs");
const value = (text, name) => Number(new RegExp("^" + name + ":? +(\\\\d+)", "m").exec(text)[1]);
const total = value(readFileSync("/proc/meminfo", "utf8"), "MemTotal") * 1024;
setInterval(() => {
  const stat = readFileSync("/sys/fs/cgroup/memory.stat", "utf8");
  const used = value(stat, "anon") + value(stat, "file") - value(stat, "inactive_file");
  appendFileSync("${SAMPLES}", Date.now() + " " + (total - used) + "\\n");
}, 25);
`;

/** Allocates the bytes that the signal names, in two halves: one read returns less than 2 GiB. It ignores SIGTERM. */
const allocating = (signal: string): string =>
  `until [ -s /signals/${signal} ]; do sleep 0.2; done; bytes=$(cat /signals/${signal})
for half in 1 2; do dd if=/dev/zero bs=$((bytes / 2)) count=1 2>/dev/null | sleep 100000 & done
while :; do sleep 1000 & wait; done`;

const podOf = (name: string, request?: string): Pod =>
  podOn(GUEST_NODE, name, {
    hostNetwork: true,
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 60,
    tolerations: [{ operator: "Exists" }],
    containers: [
      {
        ...sh(allocating(name)),
        ...(request === undefined ? {} : { resources: { requests: { memory: request } } }),
        volumeMounts: [{ name: "signals", mountPath: "/signals" }],
      },
    ],
    volumes: [{ name: "signals", hostPath: { path: SIGNALS } }],
  });

const HARD = `evictionHard:\n  memory.available: "${THRESHOLD_BYTES}"\n`;
const SOFT = `evictionHard:
  memory.available: 100Mi
evictionSoft:
  memory.available: "${THRESHOLD_BYTES}"
evictionSoftGracePeriod:
  memory.available: ${SOFT_GRACE_MS / 1_000}s
evictionMaxPodGracePeriod: ${POD_GRACE_SECONDS}
`;

interface Shortage {
  readonly decidedMs: number;
  readonly endedMs: number;
  readonly mebibytesPerSecond: number;
  /** Without sizes. */
  readonly status: unknown;
}

interface Sample {
  readonly atMs: number;
  readonly availableBytes: number;
}

describe("shortages of a guest's memory", () => {
  let cluster: Cluster;
  let pods: ClusterPods;
  let payloads: Payloads;
  const stack = new AsyncDisposableStack();

  before(async () => {
    payloads = await deckhandPayloads();
    cluster = await startCluster({ controlPlane: "full", nodes: [] });
    stack.defer(() => cluster.down());
    pods = await ClusterPods.of(cluster);
    stack.defer(() => pods.close());
  });
  after(() => stack.disposeAsync());

  async function shortageOf(agent: Agent, settings: string): Promise<Shortage> {
    await using guest = await resumeGuest();
    await makeNode(guest, cluster, settings);
    await guest.put({ ...payloads, "/opt/sampler.js": { content: SAMPLER } });
    await launchAgent(guest, agent, NODE_FLAGS);
    await cluster.kubectl("wait", "--for=create", `node/${GUEST_NODE}`, "--timeout=5m");
    await guest.must(`mkdir -p ${SIGNALS}`);
    await pods.create(podOf("holder", "2600Mi"));
    await pods.create(podOf("burst"));
    for (const name of ["holder", "burst"]) await pods.first(name, "ran", isRunning, LIMIT_MS);
    await guest.must("systemd-run --quiet --unit sampler /opt/deckhand/node /opt/sampler.js");
    await fill(guest);
    const signaledMs = await signal(guest, "burst", BURST_BYTES);
    const ended = await pods.first("burst", "was evicted", ({ status }) => status?.phase === "Failed", LIMIT_MS);
    const endedMs = (pods.versions("burst").find(({ pod }) => pod === ended)?.seenWallMs ?? 0) - (await aheadMs(guest));
    const decidedMs = await decisionMs(guest, agent);
    const samples = (await samplesOf(guest)).filter(({ atMs }) => atMs >= signaledMs);
    await stopAgent(guest);
    const crossed =
      samples.find(({ availableBytes }) => availableBytes < THRESHOLD_BYTES) ?? assert.fail("no crossing");
    const shortage: Shortage = {
      decidedMs: decidedMs - crossed.atMs,
      endedMs: endedMs - crossed.atMs,
      mebibytesPerSecond: rateOf(samples) / MIB,
      status: await neutral(ended),
    };
    for (const name of ["holder", "burst"]) await pods.delete(name, 0);
    await cluster.kubectl("delete", "node", GUEST_NODE);
    for (const name of ["holder", "burst"]) await pods.gone(name);
    return shortage;
  }

  /** Leaves LEFT_BYTES above the threshold. */
  async function fill(guest: Guest): Promise<void> {
    const latest = async () => (await samplesOf(guest)).at(-1)?.availableBytes ?? 0;
    await waitUntil("a sample", LIMIT_MS, async () => (await latest()) > 0, 500);
    const wantedBytes = THRESHOLD_BYTES + LEFT_BYTES;
    await signal(guest, "holder", (await latest()) - wantedBytes);
    await waitUntil("memory to be filled", LIMIT_MS, async () => (await latest()) < wantedBytes + 64 * MIB, 500);
    // Longer than the Go kubelet's interval of measurements: a pod without stats would be evicted first.
    await guest.must("sleep 25");
  }

  async function neutral({ status = {} }: Pod): Promise<unknown> {
    const events = (await pods.eventsOf("burst")).filter(({ reason }) => reason === "Evicted");
    return {
      reason: status.reason,
      message: withoutSizes(status.message ?? ""),
      disruption: withoutSizes(conditionOf({ status }, "DisruptionTarget")?.message ?? ""),
      events: events.map(({ type, message = "" }) => `${type} ${withoutSizes(message)}`),
    };
  }

  test("[17.2] [17.6] memory that is allocated as fast as possible: decided within 1.5 s, with the Go kubelet's status", async () => {
    const go = await shortageOf("go", HARD);
    const deckhand = await shortageOf("deckhand", HARD);
    report("hard", { go, deckhand });
    assert.deepEqual(deckhand.status, go.status);
    assert.ok(deckhand.decidedMs <= DECISION_MS_MAX, `${deckhand.decidedMs} ms`);
  });

  test("[17.3] a soft threshold evicts after its grace period, and the pod gets at most evictionMaxPodGracePeriod", async () => {
    const go = await shortageOf("go", SOFT);
    const deckhand = await shortageOf("deckhand", SOFT);
    report("soft", { go, deckhand });
    assert.deepEqual(deckhand.status, go.status);
    for (const { decidedMs, endedMs } of [go, deckhand]) {
      assert.ok(decidedMs >= SOFT_GRACE_MS, `${decidedMs} ms`);
      assert.ok(endedMs - decidedMs >= POD_GRACE_SECONDS * 1_000 - 500, `${endedMs - decidedMs} ms`);
      assert.ok(endedMs - decidedMs < 45_000, `${endedMs - decidedMs} ms`);
    }
    assert.ok(deckhand.decidedMs <= SOFT_GRACE_MS + DECISION_MS_MAX, `${deckhand.decidedMs} ms`);
  });
});

function report(kind: string, shortages: Readonly<Record<Agent, Shortage>>): void {
  for (const [agent, { decidedMs, endedMs, mebibytesPerSecond }] of Object.entries(shortages)) {
    figure(`${kind}, ${agent}: from the threshold to the decision`, Math.round(decidedMs), "ms");
    figure(`${kind}, ${agent}: from the threshold to the status`, Math.round(endedMs), "ms");
    figure(`${kind}, ${agent}: allocated`, Math.round(mebibytesPerSecond), "MiB/s");
  }
}

/** Returns the guest's wall time of the signal. */
async function signal(guest: Guest, name: string, bytes: number): Promise<number> {
  return Number(await guest.must(`echo ${Math.floor(bytes)} > ${SIGNALS}/${name}; date +%s%3N`));
}

/** How much this machine's clock is ahead of the guest's. */
async function aheadMs(guest: Guest): Promise<number> {
  const beganMs = Date.now();
  const guestMs = Number(await guest.must("date +%s%3N"));
  return (beganMs + Date.now()) / 2 - guestMs;
}

/** The guest's wall time at which the agent chose the pod. */
async function decisionMs(guest: Guest, agent: Agent): Promise<number> {
  if (agent === "go") {
    const line = await guest.must(
      "journalctl -u agent -o short-unix --no-pager | grep -m 1 'pods ranked for eviction'",
    );
    return Number(line.split(" ")[0]) * 1_000;
  }
  const { evictions } = JSON.parse(await guest.must(`${DECKHAND_PROGRAM} explain node -o json`)) as {
    readonly evictions: readonly { readonly at: string }[];
  };
  return Date.parse(evictions[0]?.at ?? assert.fail("no eviction in the journal"));
}

async function samplesOf(guest: Guest): Promise<readonly Sample[]> {
  const text = (await guest.run(`tail -n 20000 ${SAMPLES}`)).stdout.trim();
  return text.split("\n").flatMap((line) => {
    const [atMs, availableBytes] = line.split(" ").map(Number);
    return atMs === undefined || availableBytes === undefined ? [] : [{ atMs, availableBytes }];
  });
}

/** Between the last sample before the burst and the first in which nine tenths of it are allocated. */
function rateOf(samples: readonly Sample[]): number {
  const first = samples[0] ?? assert.fail("no samples");
  const begin = samples.findLast(({ availableBytes }) => first.availableBytes - availableBytes < 8 * MIB) ?? first;
  const wanted = first.availableBytes - 0.9 * BURST_BYTES;
  const end = samples.find(({ availableBytes }) => availableBytes <= wanted) ?? samples.at(-1) ?? first;
  return ((begin.availableBytes - end.availableBytes) / Math.max(1, end.atMs - begin.atMs)) * 1_000;
}

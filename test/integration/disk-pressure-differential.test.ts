/**
 * Disk space and inodes run short on a real file system: both agents remove the same things first, evict
 * the same pods, and report the same. Root directory, images and containers of the node are on one disk of its own,
 * which files of the test fill to the wanted byte.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Container, PodSpec } from "../../src/api/gen/core-v1.ts";
import type { PodStats } from "../../src/domain/stats/summary-shape.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { Recording } from "../golden/recording.ts";
import { NODES, nameOn, SIDES, type Side } from "../golden/sides.ts";
import { Ballast } from "../support/ballast.ts";
import { BothAgents } from "../support/both-agents.ts";
import { type ClusterPods, podOn, sh } from "../support/cluster-pods.ts";
import { evictionOf } from "../support/evictions.ts";
import { withRuntime } from "../support/node-runtime.ts";
import { PressedNode } from "../support/pressed-node.ts";

const recording = Recording.open("disk-pressure-differential");

const MIB = 2 ** 20;
const DISK = { path: "/var/lib", megabytes: 700, inodes: 10_000 };
const THRESHOLD_BYTES = 100 * MIB;
const THRESHOLD_INODES = 2_000;
const EVICTED_MS = 90_000;
const REMOVED_MS = 60_000;
const SOFT_GRACE_MS = 6_000;
const MAX_POD_GRACE_SECONDS = 5;
/** Longer than an agent waits for an evicted pod before it reports that the pod is late. */
const HELD_MS = 13_000;
const forever = new AbortController().signal;

/** Both agents measure volumes, and report conditions, soon. Images are removed for nothing but eviction. */
const USUAL = {
  evictionPressureTransitionPeriod: "5s",
  volumeStatsAggPeriod: "5s",
  nodeStatusUpdateFrequency: "2s",
  imageGCHighThresholdPercent: 100,
};
/** In the configuration, 0 stands for the default. */
const FLAGS = ["--minimum-image-ttl-duration=0s"];
const HARD = { "nodefs.available": "100Mi", "nodefs.inodesFree": String(THRESHOLD_INODES) };

/** Ends at once, and failed: a pod whose containers exit with 0 would be Succeeded in the Go kubelet. */
const STAY = "trap 'exit 1' TERM; while :; do sleep 1000 & wait; done";
const bytes = (megabytes: number, path: string) => `head -c ${megabytes * MIB} /dev/zero > ${path}`;
const repeated = (count: number, script: string) => `i=0; while [ $i -lt ${count} ]; do ${script}; i=$((i+1)); done`;

function scratching(script: string, more: Partial<Container> = {}): Partial<PodSpec> {
  const volumeMounts = [{ name: "scratch", mountPath: "/scratch" }];
  return {
    containers: [{ ...sh(`${script}; ${STAY}`), ...more, volumeMounts }],
    volumes: [{ name: "scratch", emptyDir: {} }],
  };
}

const PODS: Readonly<Record<string, Partial<PodSpec>>> = {
  large: scratching(bytes(48, "/scratch/data")),
  small: scratching(bytes(12, "/scratch/data")),
  requested: scratching(bytes(64, "/scratch/data"), { resources: { requests: { "ephemeral-storage": "200Mi" } } }),
  "many-files": scratching(repeated(1_500, ": > /scratch/$i")),
  "few-files": scratching(repeated(200, ": > /scratch/$i")),
};
const DONE: Partial<PodSpec> = { containers: [sh(bytes(24, "/data"))] };
/** Evicted one after the other for a soft threshold. */
const SLOW = { ...scratching(bytes(40, "/scratch/data")), terminationGracePeriodSeconds: 60 };
const BRIEF = { ...scratching(bytes(30, "/scratch/data")), terminationGracePeriodSeconds: 3 };

const usesBytes =
  (megabytes: number) =>
  (stats: PodStats): boolean =>
    (stats["ephemeral-storage"]?.usedBytes ?? 0) >= megabytes * MIB;
const usesInodes =
  (count: number) =>
  (stats: PodStats): boolean =>
    (stats["ephemeral-storage"]?.inodesUsed ?? 0) >= count;

let world: BothAgents;
let pods: ClusterPods;

const nodeOf = (side: Side) => new PressedNode(world.cluster, world.node(side));
const ballastOf = (side: Side) => new Ballast(world.node(side), DISK.path);
const phaseOf = (name: string, side: Side) => pods.latest(nameOn(side, name))?.status?.phase;
const eviction = (name: string, side: Side) => evictionOf(pods, nameOn(side, name), EVICTED_MS);

async function createOnAll(name: string, spec: Partial<PodSpec>): Promise<void> {
  for (const side of SIDES)
    await pods.create(podOn(NODES[side], nameOn(side, name), { restartPolicy: "Never", ...spec }));
}

async function measured(expected: Readonly<Record<string, (stats: PodStats) => boolean>>): Promise<void> {
  for (const side of SIDES) {
    const named = Object.entries(expected).map(([name, is]) => [nameOn(side, name), is] as const);
    await nodeOf(side).measured(Object.fromEntries(named));
  }
}

function assertRunning(names: readonly string[], side: Side): void {
  for (const name of names) assert.equal(phaseOf(name, side), "Running", nameOn(side, name));
}

const idsOf = (name: string, side: Side): readonly string[] =>
  (pods.latest(nameOn(side, name))?.status?.containerStatuses ?? []).map(
    ({ containerID = "" }) => containerID.split("://")[1] ?? "",
  );

interface StopRequest {
  readonly containerId: string;
  readonly timeout: bigint;
}

/** The calls that stopped the pod's container. */
const stopsOf = (containers: readonly string[], side: Side) =>
  world
    .proxy(side)
    .calls.filter(({ method, id }) => method === "StopContainer" && containers.includes(id))
    .map(({ request, startedWallMs }) => ({ seconds: Number((request as StopRequest).timeout), startedWallMs }));

before(async () => {
  world = await BothAgents.start({ configuration: { ...USUAL, evictionHard: HARD }, flags: FLAGS }, { disks: [DISK] });
  ({ pods } = world);
  for (const [name, spec] of Object.entries({ ...PODS, done: DONE })) await createOnAll(name, spec);
  for (const side of SIDES)
    await pods.first(nameOn(side, "done"), "succeeded", ({ status }) => status?.phase === "Succeeded");
  await measured({
    large: usesBytes(48),
    small: usesBytes(12),
    requested: usesBytes(64),
    "many-files": usesInodes(1_500),
    "few-files": usesInodes(200),
  });
});

after(() => world.end());

void suite("a full disk", () => {
  test("[17.4] containers of finished pods and unused images are removed, and that is enough: no pod is evicted", async () => {
    await recording.check("disk: reclaimed without an eviction", async (side) => {
      const [node, ballast] = [nodeOf(side), ballastOf(side)];
      const imagesBefore = await node.images();
      const dead = idsOf("done", side);
      await ballast.leaveBytes(THRESHOLD_BYTES - 10 * MIB);
      const condition = await node.condition("DiskPressure", "True");
      const containersLeft = await withRuntime(world.node(side), async (runtime) => {
        const ofDone = async () =>
          (await runtime.listContainers({}, forever)).filter(({ id }) => dead.includes(id)).length;
        await waitUntil(
          "the containers of the finished pod to be gone",
          REMOVED_MS,
          async () => (await ofDone()) === 0,
        );
        return ofDone();
      });
      await node.condition("DiskPressure", "False");
      assertRunning(Object.keys(PODS), side);
      assert.ok((await ballast.free()).bytes > THRESHOLD_BYTES);
      return {
        condition,
        dead: dead.length,
        containersLeft,
        imagesBefore,
        images: await node.images(),
        imagesCollected: await node.imagesCollected(),
        evictions: await node.evictionsCounted(),
        done: phaseOf("done", side),
      };
    });
  });

  test("[17.4] [17.5] when nothing is left to remove, the pod that uses most above its request is evicted", async () => {
    await recording.check("disk: eviction", async (side) => {
      await ballastOf(side).leaveBytes(THRESHOLD_BYTES - 30 * MIB);
      const evicted = await eviction("large", side);
      await nodeOf(side).condition("DiskPressure", "False");
      assertRunning(["small", "requested", "many-files", "few-files"], side);
      await ballastOf(side).remove();
      return { evicted, evictions: await nodeOf(side).evictionsCounted() };
    });
  });

  test("[17.2] [17.5] when inodes are short, the pod with most files is evicted", async () => {
    await recording.check("inodes: eviction", async (side) => {
      await ballastOf(side).leaveInodes(THRESHOLD_INODES - 700);
      const evicted = await eviction("many-files", side);
      await nodeOf(side).condition("DiskPressure", "False");
      assertRunning(["small", "requested", "few-files"], side);
      await ballastOf(side).remove();
      return { evicted, evictions: await nodeOf(side).evictionsCounted() };
    });
  });

  test("[17.3] [6.9] a soft threshold evicts after its grace period, with the shorter of both grace periods of the pod; a pod that does not end in time is reported", async () => {
    const soft = {
      ...USUAL,
      evictionHard: { "nodefs.inodesFree": "100" },
      evictionSoft: { "nodefs.available": "100Mi" },
      evictionSoftGracePeriod: { "nodefs.available": `${SOFT_GRACE_MS / 1000}s` },
      evictionMaxPodGracePeriod: MAX_POD_GRACE_SECONDS,
    };
    await createOnAll("slow", SLOW);
    await createOnAll("brief", BRIEF);
    for (const side of SIDES) await world.cluster.changeAgent(NODES[side], side, { configuration: soft, flags: FLAGS });
    await measured({ slow: usesBytes(40), brief: usesBytes(30), small: usesBytes(12), requested: usesBytes(64) });
    await recording.check("soft threshold: eviction", async (side) => {
      const [slow, brief] = [idsOf("slow", side), idsOf("brief", side)];
      let isHeld = false;
      const unhook = world.proxy(side).hook("StopContainer", {
        before: async (request) => {
          if (isHeld || !slow.includes((request as StopRequest).containerId)) return;
          isHeld = true;
          await pause(HELD_MS);
        },
      });
      await ballastOf(side).leaveBytes(THRESHOLD_BYTES - 60 * MIB);
      const shortWallMs = Date.now();
      const condition = await nodeOf(side).condition("DiskPressure", "True");
      const [first, second] = [await eviction("slow", side), await eviction("brief", side)];
      unhook();
      const stops = { slow: stopsOf(slow, side), brief: stopsOf(brief, side) };
      const waitedMs = (stops.slow[0]?.startedWallMs ?? 0) - shortWallMs;
      assert.ok(waitedMs >= SOFT_GRACE_MS, `evicted after ${waitedMs} ms`);
      assertRunning(["small", "requested", "few-files"], side);
      await ballastOf(side).remove();
      await nodeOf(side).condition("DiskPressure", "False");
      const late = async (name: string) =>
        (await pods.eventsOf(nameOn(side, name)))
          .filter(({ reason }) => reason === "ExceededGracePeriod")
          .map(({ type, message }) => `${type} ${message}`);
      return {
        condition,
        slow: { ...first, seconds: new Set(stops.slow.map(({ seconds }) => seconds)), late: await late("slow") },
        brief: { ...second, seconds: new Set(stops.brief.map(({ seconds }) => seconds)), late: await late("brief") },
        evictions: await nodeOf(side).evictionsCounted(),
      };
    });
  });

  test("[17.8] the events of the Node", async () => {
    await recording.check("events of the node", (side) => nodeOf(side).events());
  });
});

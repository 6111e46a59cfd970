/**
 * Pod terminations that hang on real components: in a hook, at a volume in use, at a runtime that refuses. A blocked
 * termination is reported, and completes soon after nothing blocks it any more.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { ClusterPods, podOn, SLEEPER } from "../support/cluster-pods.ts";
import { callsAbout, type World } from "./way-of-a-pod/world.ts";

const GRACE_SECONDS = 4;
/** Allows for the load of a whole test run. */
const SOON_MS = 60_000;
const REFUSAL = { code: 2, details: "the runtime will not stop it" };

let cluster: Cluster;
let node: ClusterNode;
let pods: ClusterPods;

const world = (): World => ({ cluster, pods, node, proxy: node.criProxy ?? assert.fail("the node has a proxy") });
const blocked = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === "TerminationBlocked");
const reported = async (name: string) =>
  (await pods.eventsOf(name)).filter(({ reason }) => reason === "TerminationBlocked").map(({ message }) => message);

before(async () => {
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand", criProxy: true }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  pods = await ClusterPods.of(cluster);
  const preStop = { exec: { command: ["sleep", "1000"] } };
  const [volumes, volumeMounts] = [
    [{ name: "data", emptyDir: { medium: "Memory" } }],
    [{ name: "data", mountPath: "/data" }],
  ];
  const specs = {
    hooked: { containers: [{ ...SLEEPER, lifecycle: { preStop } }] },
    busy: { volumes, containers: [{ ...SLEEPER, volumeMounts }] },
    refused: { containers: [SLEEPER] },
  };
  for (const [name, spec] of Object.entries(specs))
    await pods.create(podOn(node.name, name, { terminationGracePeriodSeconds: GRACE_SECONDS, ...spec }));
  for (const name of Object.keys(specs)) await pods.running(name);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

void suite("terminations that hang", () => {
  test("[6.5] a preStop hook that never ends delays termination by the grace period, without a TerminationBlocked condition", async () => {
    await pods.delete("hooked");
    await pods.gone("hooked", SOON_MS);
    assert.deepEqual(
      pods.versions("hooked").flatMap(({ pod }) => blocked(pod) ?? []),
      [],
    );
  });

  test("[6.6] a volume in use blocks termination with a TerminationBlocked condition and event, until it is no longer in use", async () => {
    const uid = pods.latest("busy")?.metadata?.uid;
    const volume = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/data`;
    const { stdout } = await node.run("sh", "-c", `cd ${volume} && { sleep 1000 >/dev/null 2>&1 & echo $!; }`);
    const holder = Number(stdout);
    try {
      await pods.delete("busy");
      const stuck = await pods.first("busy", "is blocked", (pod) => blocked(pod) !== undefined, SOON_MS);
      const { status, reason, message } = blocked(stuck) ?? {};
      assert.deepEqual([status, reason], ["True", "UnmountVolumes"]);
      assert.match(
        message ?? "",
        /^step 4\/8 unmount: data: .*busy.*; Held by pid \d+ \(sleep\), by its working directory$/,
      );
      await waitUntil("the event", SOON_MS, async () => (await reported("busy")).length > 0);
      assert.deepEqual(await reported("busy"), [message]);
    } finally {
      process.kill(holder, "SIGKILL");
    }
    await pods.gone("busy", SOON_MS);
  });

  test("[6.5] a failing StopContainer blocks termination with a condition, also after a restart of the agent, until it succeeds", async () => {
    const pod = pods.latest("refused") ?? assert.fail("it runs");
    const ids = new Set(callsAbout(world(), pod, "StartContainer").map(({ id }) => id));
    const unhook = world().proxy.hook("StopContainer", {
      before: (request) => {
        if (ids.has((request as { readonly containerId: string }).containerId)) throw REFUSAL;
      },
    });
    try {
      await pods.delete("refused");
      const stuck = await pods.first("refused", "is blocked", (one) => blocked(one) !== undefined, SOON_MS);
      const { reason, message } = blocked(stuck) ?? {};
      assert.equal(reason, "StopContainers");
      assert.match(message ?? "", /^step 2\/8 stop containers: .*the runtime will not stop it/);
      const asked = () => callsAbout(world(), pod, "StopContainer").length;
      await cluster.component(`kubelet@${node.name}`).restart();
      const before = asked();
      await waitUntil("the next agent to try it", SOON_MS, async () => asked() > before + 1);
      assert.deepEqual(await reported("refused"), [message]);
    } finally {
      unhook();
    }
    await pods.gone("refused", SOON_MS);
  });
});

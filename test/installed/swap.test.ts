/**
 * Machines with swap: the kubelet refuses to start, or gives a share of the swap to the pods that may have one.
 * Deckhand is compared with the Go kubelet, on cgroup v2.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { scratch } from "../../tools/scratch.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { waitUntil } from "../cluster/wait.ts";
import type { Payloads } from "../guest/disks.ts";
import type { Guest } from "../guest/guest.ts";
import { resumeGuest } from "../guest/guests.ts";
import { type Agent, configuration, deckhandPayloads, launchAgent, runAgent } from "../support/guest-agents.ts";
import { GUEST_NODE, makeNode, NODE_FLAGS } from "../support/guest-node.ts";

const LIMIT_MS = 10 * 60_000;
const SENTENCE =
  "failed to run Kubelet: running with swap on is not supported, please disable swap or set --fail-swap-on flag to false";
const SWAP_ON =
  "dd if=/dev/zero of=/swapfile bs=1M count=64 status=none; chmod 600 /swapfile; mkswap -q /swapfile; swapon /swapfile";
const LIMITED = "failSwapOn: false\nmemorySwap:\n  swapBehavior: LimitedSwap\n";

/**
 * The first pod may have its share of swap, the second requests nothing, the third requests all that it may use. Static
 * pods are critical and get no swap, so these pods come from the API server.
 */
const RESOURCES = {
  burstable: { requests: { memory: "512Mi" }, limits: { memory: "768Mi" } },
  "best-effort": {},
  guaranteed: { limits: { cpu: "10m", memory: "64Mi" } },
} as const;

const POD: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "swaps", namespace: "default" },
  spec: {
    nodeName: GUEST_NODE,
    hostNetwork: true,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    tolerations: [{ operator: "Exists" }],
    containers: [],
  },
};

const pods = Object.entries(RESOURCES).map(([name, resources]) => ({
  ...POD,
  metadata: { ...POD.metadata, name },
  spec: { ...POD.spec, containers: [{ name: "main", image: BUSYBOX_IMAGE, command: ["sleep", "3600"], resources }] },
}));

describe("a guest with swap", () => {
  const stack = new AsyncDisposableStack();
  const directory = stack.use(scratch());
  let cluster: Cluster;
  let payloads: Payloads;

  before(async () => {
    payloads = await deckhandPayloads();
    cluster = await startCluster({ controlPlane: "full", nodes: [] });
    stack.defer(() => cluster.down());
    directory.write("pods.json", JSON.stringify({ apiVersion: "v1", kind: "List", items: pods }));
  });
  after(() => stack.disposeAsync());

  async function byAgent<T>(run: (guest: Guest, agent: Agent) => Promise<T>): Promise<readonly [T, T]> {
    const inGuest = async (agent: Agent) => {
      await using guest = await resumeGuest();
      await guest.put(payloads);
      await guest.must(SWAP_ON);
      return await run(guest, agent);
    };
    return [await inGuest("deckhand"), await inGuest("go")];
  }

  test("[14.10] both agents refuse to start with the same message", async () => {
    await byAgent(async (guest, agent) => {
      const { code, output } = await runAgent(guest, agent, configuration());
      assert.equal(code, 1, `${agent}: ${output}`);
      assert.ok(output.includes(SENTENCE), `${agent}: ${output}`);
    });
  });

  test("[14.10] with LimitedSwap a Burstable container gets the same swap limit as with the Go kubelet, and others get none", async () => {
    const [ours, theirs] = await byAgent(async (guest, agent) => {
      await makeNode(guest, cluster, LIMITED);
      await launchAgent(guest, agent, NODE_FLAGS);
      await cluster.kubectl("wait", "--for=create", `node/${GUEST_NODE}`, "--timeout=5m");
      await cluster.kubectl("apply", "-f", directory.path("pods.json"));
      for (const { metadata } of pods) {
        const { name } = metadata;
        const phase = () => cluster.kubectl("get", "pod", name, "-o", "jsonpath={.status.phase}");
        await waitUntil(`${name} to run`, LIMIT_MS, async () => (await phase()) === "Running", 1_000);
      }
      // The cgroup of one container process in each QoS class.
      const limits = await guest.must(
        `cd /sys/fs/cgroup/kubepods.slice; for pid in $(pgrep -xf 'sleep 3600'); do d=/sys/fs/cgroup$(sed s/^0::// /proc/$pid/cgroup); case $d in
          *burstable*) k=burstable;; *besteffort*) k=best-effort;; *) k=guaranteed;; esac; echo $k $(cat $d/memory.swap.max); done | sort`,
      );
      await cluster.kubectl("delete", "-f", directory.path("pods.json"), "--force", "--grace-period=0");
      await cluster.kubectl("delete", "node", GUEST_NODE);
      return limits;
    });
    assert.equal(ours, theirs);
    const [bestEffort = "", burstable = "", guaranteed = ""] = ours.trim().split("\n");
    assert.equal(bestEffort, "best-effort 0");
    assert.equal(guaranteed, "guaranteed 0");
    assert.match(burstable, /^burstable [1-9]\d+$/);
  });
});

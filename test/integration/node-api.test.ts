/** The node's loops against a real API server, under the node's own identity and NodeRestriction. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import * as fc from "fast-check";
import type { Node } from "../../src/api/gen/core-v1.ts";
import { nodes } from "../../src/api/resources.ts";
import { nodePatch } from "../../src/domain/node/node-patch.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { hostRandom } from "../../src/wire/host/random.ts";
import { createKubeApi, type KubeApi } from "../../src/wire/kube-api/client.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { boxedMachine } from "./boxed-machine.ts";
import { startNodeAgent } from "./node-agent.ts";

const READY_MS_MAX = 3000;
const REQUESTS_PER_MINUTE_MAX = 8;
const signal = new AbortController().signal;

describe("a node of our own", () => {
  let cluster: Cluster;
  let node: ClusterNode;
  let admin: KubeApi;

  before(async () => {
    cluster = await startCluster({ controlPlane: "api", nodes: [{ agent: "none" }] });
    [node] = cluster.nodes as [ClusterNode];
    const [ca, certificatePem, keyPem] = await Promise.all(
      [cluster.api.caFile, cluster.api.adminCertFile, cluster.api.adminKeyFile].map((file) => readFile(file, "utf8")),
    );
    const credentials = { kind: "certificate", certificatePem: certificatePem ?? "", keyPem: keyPem ?? "" } as const;
    const connection = { url: cluster.api.url, ca: ca ?? "", credentials };
    admin = createKubeApi({ connection, clock: hostClock, random: hostRandom });
  });

  after(async () => {
    await admin.close();
    await cluster.down();
  });

  const ready = ({ status }: Node) => status?.conditions?.find(({ type }) => type === "Ready");
  const ourNode = () => admin.get(nodes, { name: node.name }, signal);
  const start = () => startNodeAgent({ cluster, node, machine: boxedMachine(node) });
  const isReady = () =>
    ourNode().then(
      (found) => ready(found)?.status === "True",
      () => false,
    );

  /** What the node itself asked of the API server, from the audit log. */
  async function requests(): Promise<readonly string[]> {
    const lines = (await readFile(cluster.api.auditLog, "utf8")).split("\n").filter((line) => line !== "");
    return lines
      .map((line) => JSON.parse(line) as AuditEvent)
      .filter(({ user, stage }) => user.username === `system:node:${node.name}` && stage !== "RequestReceived")
      .map(({ verb, objectRef }) => [verb, objectRef?.resource, objectRef?.subresource].filter(Boolean).join(" "));
  }

  test("[3.1] [3.13] it is ready within 3 s, and idles at the pace of 8 requests a minute at most", async (t) => {
    const agent = await start();
    try {
      await waitUntil("the node to be ready", READY_MS_MAX, isReady);
      t.diagnostic(`ready after ${Math.round(performance.now() - agent.startedMs)} ms`);
      assert.deepEqual((await requests()).toSorted(), ["create leases", "create nodes", "get leases", "watch nodes"]);
      await pause(2000);
      const before = (await requests()).length;
      await pause(30_000);
      const idle = (await requests()).slice(before);
      t.diagnostic(`${idle.length} requests in half an idle minute: ${idle.join(", ")}`);
      assert.ok(idle.length <= REQUESTS_PER_MINUTE_MAX / 2);
      assert.ok(idle.filter((request) => request === "update leases").length >= 2);
      assert.equal(idle.filter((request) => request.startsWith("get")).length, 0);
    } finally {
      await agent.stop();
    }
  });

  test("[27.4.1] [27.4.2] an agent that starts again takes Node and lease over as they are", async () => {
    const before = await ourNode();
    const lease = async () =>
      JSON.parse(await cluster.kubectl("get", "lease", node.name, "--namespace=kube-node-lease", "-o", "json")) as {
        readonly metadata: { readonly uid: string };
        readonly spec: { readonly renewTime: string };
      };
    const leaseBefore = await lease();
    const agent = await start();
    try {
      await waitUntil("the lease to be renewed", 5000, async () => {
        return (await lease()).spec.renewTime !== leaseBefore.spec.renewTime;
      });
      await waitUntil("a report", 5000, async () => {
        return ready(await ourNode())?.lastHeartbeatTime !== ready(before)?.lastHeartbeatTime;
      });
      const after = await ourNode();
      assert.equal(after.metadata?.uid, before.metadata?.uid);
      assert.equal((await lease()).metadata.uid, leaseBefore.metadata.uid);
      assert.equal(ready(after)?.lastTransitionTime, ready(before)?.lastTransitionTime);
    } finally {
      await agent.stop();
    }
  });

  test("[3.14] what others set stays, what they took comes back, and an address that is gone vanishes", async () => {
    const agent = await start();
    try {
      await waitUntil("a report", 5000, async () => agent.nodeSynced.value.kind === "synced");
      const status = {
        conditions: [{ type: "KernelDeadlock", status: "False", reason: "KernelHasNoDeadlock" }],
        addresses: [{ type: "ExternalIP", address: "203.0.113.1" }],
        capacity: { "example.com/dongle": "4" },
      };
      const patch = { kind: "strategic", body: { status } } as const;
      await admin.patch(nodes, { name: node.name }, patch, { subresource: "status" }, signal);
      const types = async () => (await ourNode()).status?.addresses?.map(({ type }) => type);
      await waitUntil("our addresses to be back", 15_000, async () => !(await types())?.includes("ExternalIP"));
      const after = await ourNode();
      assert.deepEqual(await types(), ["InternalIP", "Hostname"]);
      assert.equal(
        after.status?.conditions?.some(({ type }) => type === "KernelDeadlock"),
        true,
      );
      assert.equal(after.status?.capacity?.["example.com/dongle"], "4");
      assert.equal(after.status.allocatable?.["example.com/dongle"], "4");
    } finally {
      await agent.stop();
    }
  });

  test("[3.12] [3.16] a runtime that is away makes the node not ready after 30 s, with the cause, and back", async () => {
    const agent = await start();
    const containerd = cluster.component(`containerd@${node.name}`);
    try {
      await waitUntil("a report", 5000, async () => agent.nodeSynced.value.kind === "synced");
      await containerd.kill();
      await waitUntil("the node to be not ready", 60_000, async () => !(await isReady()));
      const condition = ready(await ourNode());
      assert.deepEqual(
        [condition?.status, condition?.reason, condition?.message],
        ["False", "KubeletNotReady", "container runtime is down"],
      );
      // A node that is not ready and a runtime that is away: what is known of it stays.
      assert.match((await ourNode()).status?.nodeInfo?.containerRuntimeVersion ?? "", /^containerd:\/\/\d/);
      await containerd.restart();
      await waitUntil("the node to be ready again", 30_000, isReady);
      const changes = agent.events.filter((event) => /NodeReady|NodeNotReady/.test(event));
      assert.deepEqual(changes, [
        `Normal NodeNotReady Node ${node.name} status is now: NodeNotReady`,
        `Normal NodeReady Node ${node.name} status is now: NodeReady`,
      ]);
    } finally {
      if (!(await containerd.isAlive())) await containerd.restart();
      await agent.stop();
    }
  });

  test("[17.2] [17.8] [3.11] a machine with less than asked for is under pressure, and says so", async () => {
    const machine = boxedMachine(node);
    const evictionHard = { "memory.available": "99%", "imagefs.available": "99.9%", "pid.available": "10" };
    const agent = await startNodeAgent({ cluster, node, machine, evictionHard });
    const conditions = async () =>
      (await ourNode()).status?.conditions
        ?.filter(({ type }) => type.endsWith("Pressure"))
        .map(({ type, status, reason }) => `${type} ${status} ${reason}`);
    const pressed = [
      "MemoryPressure True KubeletHasInsufficientMemory",
      "DiskPressure True KubeletHasDiskPressure",
      "PIDPressure False KubeletHasSufficientPID",
    ];
    try {
      await waitUntil("the pressure to show", 15_000, async () => (await conditions())?.[0] === pressed[0]);
      assert.deepEqual(await conditions(), pressed);
      assert.equal((await ourNode()).spec?.taints?.some(({ key }) => key.endsWith("-pressure")) ?? false, false);
    } finally {
      await agent.stop();
    }
    const relieved = await start();
    try {
      await waitUntil("the pressure to be gone", 15_000, async () => (await conditions())?.[0] !== pressed[0]);
    } finally {
      await relieved.stop();
    }
  });

  test("[1.14] [3.15] with the API server away nothing is lost: the lease goes on within seconds of its return", async (t) => {
    const agent = await start();
    const api = cluster.component("kube-apiserver");
    try {
      await waitUntil("a report", 5000, async () => agent.nodeSynced.value.kind === "synced");
      const before = ready(await ourNode());
      await api.kill();
      await pause(8000);
      await api.restart();
      const backMs = Date.now();
      const renewed = async () =>
        Date.parse(
          await cluster.kubectl(
            "get",
            "lease",
            node.name,
            "--namespace=kube-node-lease",
            "-o",
            "jsonpath={.spec.renewTime}",
          ),
        );
      await waitUntil("a renewal", 20_000, async () => (await renewed()) > backMs - 1000);
      t.diagnostic(`renewed ${((await renewed()) - backMs) / 1000} s after the server was back`);
      assert.deepEqual(ready(await ourNode())?.lastTransitionTime, before?.lastTransitionTime);
    } finally {
      await agent.stop();
    }
  });

  test("[3.1] who may not create nodes finds the one the operator made", async () => {
    await cluster.kubectl(
      "create",
      "clusterrole",
      "limited",
      "--verb=get,list,watch,patch",
      "--resource=nodes,nodes/status",
    );
    await cluster.kubectl("create", "clusterrolebinding", "limited", "--clusterrole=limited", "--user=limited");
    const made = await admin.create(
      nodes,
      { metadata: { name: "made", labels: { "example.com/by": "operator" } } },
      signal,
    );
    const user = { name: "limited", groups: [] };
    const renamed = { ...node, name: "made" };
    const agent = await startNodeAgent({ cluster, node: renamed, machine: boxedMachine(renamed), user });
    try {
      await waitUntil("the node to be ready", 5000, async () => {
        return ready(await admin.get(nodes, { name: "made" }, signal))?.status === "True";
      });
      const found = await admin.get(nodes, { name: "made" }, signal);
      assert.equal(found.metadata?.uid, made.metadata?.uid);
      assert.equal(found.metadata?.labels?.["kubernetes.io/hostname"], "made");
      assert.equal(found.metadata.labels["example.com/by"], "operator");
    } finally {
      await agent.stop();
    }
  });

  test("[3.3] [3.4] [3.5] a node of a cloud waits for its controller with a taint, and keeps the addresses it is given", async () => {
    const clouded = { ...node, name: "clouded" };
    const agent = await startNodeAgent({
      cluster,
      node: clouded,
      machine: boxedMachine(clouded),
      change: { externalCloud: true },
      registration: { providerId: "cloud:///zone/1", taints: [{ key: "own", effect: "NoExecute" }] },
    });
    const theNode = () => admin.get(nodes, { name: "clouded" }, signal);
    try {
      await waitUntil("the node to be there", 5000, async () => agent.nodeSynced.value.kind === "synced");
      const { metadata, spec } = await theNode();
      assert.equal(metadata?.annotations?.["alpha.kubernetes.io/provided-node-ip"], node.address);
      assert.equal(spec?.providerID, "cloud:///zone/1");
      const taints = spec.taints?.map(({ key, value = "", effect }) => `${key}=${value}:${effect}`) ?? [];
      for (const taint of ["own=:NoExecute", "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"]) {
        assert.ok(taints.includes(taint), taints.join());
      }
      const given = [
        { type: "ExternalIP", address: "203.0.113.9" },
        { type: "InternalIP", address: "192.0.2.77" },
        { type: "InternalIP", address: node.address },
      ];
      const patch = { kind: "merge", body: { status: { addresses: given } } } as const;
      await admin.patch(nodes, { name: "clouded" }, patch, { subresource: "status" }, signal);
      // Over a look of the status loop, in which a change of ours makes it write.
      agent.nodeHolds.set({ ...agent.nodeHolds.value, shutdown: "node is shutting down" });
      await waitUntil("a report", 15_000, async () => ready(await theNode())?.status === "False");
      const { status } = await theNode();
      assert.deepEqual(status?.addresses, given);
      assert.equal(ready({ status: status ?? {} })?.message, "node is shutting down");
    } finally {
      await agent.stop();
    }
  });

  test("[3.20] the pod range of the cluster reaches the runtime", async () => {
    const agent = await start();
    try {
      const body = { spec: { podCIDR: "198.18.7.0/24", podCIDRs: ["198.18.7.0/24"] } };
      await admin.patch(nodes, { name: node.name }, { kind: "merge", body }, {}, signal);
      await waitUntil("the runtime to know", 5000, async () => agent.podCidrs.length > 0);
      assert.deepEqual(agent.podCidrs, ["198.18.7.0/24"]);
    } finally {
      await agent.stop();
    }
  });

  test("[3.14] whatever status a node goes to, the server has it after one patch", async (t) => {
    const name = "patched";
    const condition = record({
      type: fc.constantFrom("A", "B", "C", "D", "Ready"),
      status: fc.constantFrom("True", "False", "Unknown"),
      reason: fc.constantFrom("X", "Y"),
      lastHeartbeatTime: fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
      lastTransitionTime: fc.constant("2026-01-01T00:00:00Z"),
    });
    // The server moves addresses of one type together even when it is told to replace the list.
    const addressesOfOneTypeTogether = fc
      .uniqueArray(
        record({
          type: fc.constantFrom("ExternalIP", "Hostname", "InternalIP"),
          address: fc.constantFrom("192.0.2.1", "192.0.2.2", "fd00::1"),
        }),
        { selector: ({ type, address }) => `${type} ${address}`, minLength: 1 },
      )
      .map((addresses) => addresses.toSorted((a, b) => a.type.localeCompare(b.type)));
    const status = record({
      conditions: fc.uniqueArray(condition, { selector: ({ type }) => type, minLength: 1, maxLength: 5 }),
      addresses: addressesOfOneTypeTogether,
      capacity: fc.dictionary(fc.constantFrom("cpu", "memory", "pods"), fc.constantFrom("1", "2"), {
        minKeys: 1,
        noNullPrototype: true,
      }),
      runtimeHandlers: fc.constantFrom([{ name: "" }], [{ name: "runc" }, { name: "" }]),
      volumesInUse: fc.constantFrom(["a"], ["b", "a"]),
    });
    await admin.create(nodes, { metadata: { name } }, signal);
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(status, async (wanted) => {
        const known = await admin.get(nodes, { name }, signal);
        const body = nodePatch(known, { ...known, status: { ...known.status, ...wanted } });
        if (body === undefined) return;
        const answer = await admin.patch(
          nodes,
          { name },
          { kind: "strategic", body },
          { subresource: "status" },
          signal,
        );
        for (const [field, value] of Object.entries(wanted)) {
          assert.deepEqual(answer.status?.[field as keyof typeof wanted], value, field);
        }
        runs += 1;
      }),
      { numRuns: 150, endOnFailure: true },
    );
    t.diagnostic(`${runs} patches made the server's Node what was wanted`);
    assert.ok(runs > 100);
  });
});

/** With the prototype that parsed objects have. */
const record = <T extends object>(model: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record<T>(model, { noNullPrototype: true });

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
}

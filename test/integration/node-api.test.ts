/** Deckhand's Node and Lease on a real API server, with the node's own identity and NodeRestriction. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import * as fc from "fast-check";
import type { Node } from "../../src/api/gen/core-v1.ts";
import { nodes } from "../../src/api/resources.ts";
import { nodePatch } from "../../src/domain/node/node-patch.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { hostRandom } from "../../src/wire/host/random.ts";
import { createKubeApi, type KubeApi } from "../../src/wire/kube-api/client.ts";
import { writeKubeconfig } from "../cluster/certificates.ts";
import { type Cluster, type ClusterNode, type Component, startCluster } from "../cluster/cluster.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { type AuditEntry, auditOf } from "../support/audit.ts";
import { failedStart } from "../support/failed-start.ts";

const READY_MS_MAX = 3000;
const REQUESTS_PER_MINUTE_MAX = 8;
const signal = new AbortController().signal;

describe("Deckhand's Node and Lease on a real API server", () => {
  let cluster: Cluster;
  let node: ClusterNode;
  let admin: KubeApi;

  before(async () => {
    cluster = await startCluster({ controlPlane: "api", nodes: [{ agent: "deckhand", criProxy: true }] });
    [node] = cluster.nodes as [ClusterNode];
    const [ca, certificatePem, keyPem] = await Promise.all(
      [cluster.api.caFile, cluster.api.adminCertFile, cluster.api.adminKeyFile].map((file) => readFile(file, "utf8")),
    );
    const credentials = { kind: "certificate", certificatePem: certificatePem ?? "", keyPem: keyPem ?? "" } as const;
    const connection = { url: cluster.api.url, ca: ca ?? "", credentials };
    admin = createKubeApi({ connection, clock: hostClock, random: hostRandom });
    await waitUntil("the node to be ready", 30_000, isReady);
  });

  after(async () => {
    await admin.close();
    await cluster.down();
  });

  const agent = (): Component => cluster.component(`kubelet@${node.name}`);
  const condition = ({ status }: Node, wanted: string) => status?.conditions?.find(({ type }) => type === wanted);
  const ready = (found: Node) => condition(found, "Ready");
  const nodeNamed = (name: string) => admin.get(nodes, { name }, signal);
  const ownNode = () => nodeNamed(node.name);
  const isReady = (name = node.name) =>
    nodeNamed(name).then(
      (found) => ready(found)?.status === "True",
      () => false,
    );

  /**
   * Kills the agent, deletes its Node and Lease and restarts the agent with these options. Returns the time of the
   * kill.
   */
  async function registerAgain(options?: Parameters<Cluster["changeAgent"]>[2]): Promise<number> {
    await agent().kill();
    const diedWallMs = Date.now();
    await cluster.kubectl("delete", "node", node.name);
    await cluster.kubectl("delete", "lease", node.name, "--namespace=kube-node-lease");
    await cluster.changeAgent(node.name, "deckhand", options);
    return diedWallMs;
  }

  /** The agent's requests to the API server, from the audit log. */
  async function requests(): Promise<readonly string[]> {
    const lines = (await readFile(cluster.api.auditLog, "utf8")).split("\n").filter((line) => line !== "");
    return (
      lines
        .map((line) => JSON.parse(line) as AuditEvent)
        .filter(({ user }) => user.username === `system:node:${node.name}`)
        // A watch has two entries; the second one marks its end.
        .filter(({ verb, stage }) => stage === (verb === "watch" ? "ResponseStarted" : "ResponseComplete"))
        .map(({ verb, objectRef }) => [verb, objectRef?.resource, objectRef?.subresource].filter(Boolean).join(" "))
    );
  }

  /** How often the agent reported this event on its Node. */
  async function reported(reason: string): Promise<number> {
    const selector = `--field-selector=involvedObject.kind=Node,involvedObject.name=${node.name},reason=${reason}`;
    const { items } = JSON.parse(await cluster.kubectl("get", "events", selector, "-o", "json")) as {
      readonly items: readonly { readonly count?: number; readonly message: string }[];
    };
    for (const { message } of items) assert.equal(message, `Node ${node.name} status is now: ${reason}`);
    return items.reduce((sum, { count = 1 }) => sum + count, 0);
  }

  const leaseField = (path: string) =>
    cluster.kubectl("get", "lease", node.name, "--namespace=kube-node-lease", "-o", `jsonpath={${path}}`);

  test("[3.1] [3.13] a new node is ready within 3 s of its agent's start, and an idle node sends at most 8 requests a minute", async (t) => {
    const before = (await requests()).length;
    await registerAgain();
    const startedMs = performance.now();
    await waitUntil("the node to be ready", READY_MS_MAX, isReady);
    t.diagnostic(`ready ${Math.round(performance.now() - startedMs)} ms after it listened`);
    const first = (await requests()).slice(before).filter((request) => / (?:nodes|leases)$/.test(request));
    assert.deepEqual(first.toSorted(), ["create leases", "create nodes", "get leases", "watch nodes"]);
    await pause(5000);
    const rested = (await requests()).length;
    await pause(30_000);
    const idle = (await requests()).slice(rested);
    t.diagnostic(`${idle.length} requests in half an idle minute: ${idle.join(", ")}`);
    assert.ok(idle.length <= REQUESTS_PER_MINUTE_MAX / 2, idle.join(", "));
    assert.ok(idle.filter((request) => request === "update leases").length >= 2, idle.join(", "));
    assert.equal(idle.filter((request) => request.startsWith("get")).length, 0, idle.join(", "));
  });

  test("[4.1] the agent watches the pods of its node in all namespaces, and not before it has read its Node", async () => {
    const sinceMs = await registerAgain();
    await waitUntil("the node to be ready", 30_000, isReady);
    const timeOf = ({ requestReceivedTimestamp }: AuditEntry) => Date.parse(requestReceivedTimestamp);
    const entries = (await auditOf(cluster, `system:node:${node.name}`)).filter((entry) => timeOf(entry) >= sinceMs);
    const reading = (resource: string) =>
      entries.filter(
        ({ verb, objectRef }) => (verb === "list" || verb === "watch") && objectRef?.resource === resource,
      );
    const [ofPods, [ofNode]] = [reading("pods"), reading("nodes")];
    assert.ok(ofNode !== undefined && ofPods.length > 0);
    for (const entry of ofPods) {
      const { pathname, searchParams } = new URL(entry.requestURI, cluster.api.url);
      assert.deepEqual([pathname, searchParams.get("fieldSelector")], ["/api/v1/pods", `spec.nodeName=${node.name}`]);
      assert.ok(timeOf(entry) > timeOf(ofNode), `${entry.requestReceivedTimestamp} ${ofNode.requestReceivedTimestamp}`);
    }
  });

  test("[27.4.1] [27.4.2] a restarted agent keeps the existing Node and Lease", async () => {
    const before = await ownNode();
    const [leaseUid, renewed] = [await leaseField(".metadata.uid"), await leaseField(".spec.renewTime")];
    // The restarted agent's report is visible only in a later second than the previous report.
    await pause(1_000);
    await agent().restart();
    await waitUntil("the lease to be renewed", 15_000, async () => (await leaseField(".spec.renewTime")) !== renewed);
    await waitUntil("a report", 15_000, async () => {
      return ready(await ownNode())?.lastHeartbeatTime !== ready(before)?.lastHeartbeatTime;
    });
    const after = await ownNode();
    assert.equal(after.metadata?.uid, before.metadata?.uid);
    assert.equal(await leaseField(".metadata.uid"), leaseUid);
    assert.equal(ready(after)?.lastTransitionTime, ready(before)?.lastTransitionTime);
  });

  test("[3.14] the agent keeps what others set, restores what they removed, and removes an address that it does not have", async () => {
    const status = {
      conditions: [{ type: "KernelDeadlock", status: "False", reason: "KernelHasNoDeadlock" }],
      addresses: [{ type: "ExternalIP", address: "203.0.113.1" }],
      capacity: { "example.com/dongle": "4" },
    };
    const patch = { kind: "strategic", body: { status } } as const;
    await admin.patch(nodes, { name: node.name }, patch, { subresource: "status" }, signal);
    const types = async () => (await ownNode()).status?.addresses?.map(({ type }) => type);
    await waitUntil("the addresses to be restored", 15_000, async () => !(await types())?.includes("ExternalIP"));
    const after = await ownNode();
    assert.deepEqual(await types(), ["InternalIP", "Hostname"]);
    assert.ok(condition(after, "KernelDeadlock"));
    assert.equal(after.status?.capacity?.["example.com/dongle"], "4");
    assert.equal(after.status.allocatable?.["example.com/dongle"], "4");
  });

  test("[3.12] [3.16] a node whose runtime is down is not ready after 30 s, with the cause, and is ready again once the runtime is back", async () => {
    const containerd = cluster.component(`containerd@${node.name}`);
    const before = [await reported("NodeNotReady"), await reported("NodeReady")];
    try {
      await containerd.kill();
      await waitUntil("the node to be not ready", 60_000, async () => !(await isReady()));
      const { status, reason, message } = ready(await ownNode()) ?? {};
      assert.deepEqual([status, reason, message], ["False", "KubeletNotReady", "container runtime is down"]);
      // The known version of the runtime stays published.
      assert.match((await ownNode()).status?.nodeInfo?.containerRuntimeVersion ?? "", /^containerd:\/\/\d/);
    } finally {
      await containerd.restart();
    }
    await waitUntil("the node to be ready again", 30_000, isReady);
    const after = async () => [await reported("NodeNotReady"), await reported("NodeReady")];
    await waitUntil("the events", 15_000, async () => ((await after())[1] ?? 0) > (before[1] ?? 0));
    assert.deepEqual(
      await after(),
      before.map((count) => count + 1),
    );
  });

  test("[17.2] [17.8] [3.11] a node below its eviction thresholds reports MemoryPressure and DiskPressure, but no PIDPressure", async () => {
    const evictionHard = { "memory.available": "99%", "imagefs.available": "99.9%", "pid.available": "10" };
    await cluster.changeAgent(node.name, "deckhand", { configuration: { evictionHard } });
    const conditions = async () =>
      (await ownNode()).status?.conditions
        ?.filter(({ type }) => type.endsWith("Pressure"))
        .map(({ type, status, reason }) => `${type} ${status} ${reason}`);
    const pressed = [
      "MemoryPressure True KubeletHasInsufficientMemory",
      "DiskPressure True KubeletHasDiskPressure",
      "PIDPressure False KubeletHasSufficientPID",
    ];
    await waitUntil("the pressure to show", 30_000, async () => (await conditions())?.[0] === pressed[0]);
    assert.deepEqual(await conditions(), pressed);
    assert.equal((await ownNode()).spec?.taints?.some(({ key }) => key.endsWith("-pressure")) ?? false, false);
    await cluster.changeAgent(node.name, "deckhand");
    await waitUntil("the pressure to be gone", 30_000, async () => (await conditions())?.[0] !== pressed[0]);
  });

  test("[14.8] missing systemReservedCgroup ends the agent's start in strict mode; in enhanced mode it is a FailedNodeAllocatableEnforcement event, and the node becomes ready", async () => {
    const configuration = {
      enforceNodeAllocatable: ["pods", "system-reserved"],
      systemReserved: { memory: "64Mi" },
      systemReservedCgroup: "/no-such-group",
    };
    assert.match(
      await failedStart(cluster, node.name, { configuration, flags: ["--deckhand-compatibility=strict"] }),
      /command failed.*Failed to start ContainerManager: Failed to enforce System Reserved Cgroup Limits on/,
    );
    await cluster.kubectl("delete", "events", "--all");
    await cluster.changeAgent(node.name, "deckhand", { configuration, flags: ["--deckhand-compatibility=enhanced"] });
    const startedMs = Date.now();
    const selector = "--field-selector=involvedObject.kind=Node,reason=FailedNodeAllocatableEnforcement";
    const messages = () => cluster.kubectl("get", "events", selector, "-o", "jsonpath={.items[*].message}");
    await waitUntil("the event", 30_000, async () => (await messages()) !== "");
    assert.match(await messages(), /^Failed to enforce System Reserved Cgroup Limits on "\/no-such-group": /);
    await waitUntil("a renewal of the lease", 30_000, async () => {
      return Date.parse(await leaseField(".spec.renewTime")) > startedMs + 5_000;
    });
    await waitUntil("the node to be ready", 30_000, isReady);
    await cluster.changeAgent(node.name, "deckhand");
  });

  test("[1.14] [3.15] the agent renews the lease within seconds of the API server's return, and the node stays ready", async (t) => {
    await waitUntil("the node to be ready", 30_000, isReady);
    const before = ready(await ownNode());
    const api = cluster.component("kube-apiserver");
    await api.kill();
    await pause(8000);
    await api.restart();
    const backMs = Date.now();
    const renewedMs = async () => Date.parse(await leaseField(".spec.renewTime"));
    await waitUntil("a renewal", 20_000, async () => (await renewedMs()) > backMs - 1000);
    t.diagnostic(`renewed ${((await renewedMs()) - backMs) / 1000} s after the server was back`);
    assert.deepEqual(ready(await ownNode())?.lastTransitionTime, before?.lastTransitionTime);
  });

  test("[3.1] [13.26] an agent that may not create Nodes uses an existing Node, and is NotReady until it has a CSINode", async () => {
    const role = JSON.parse(await cluster.kubectl("get", "clusterrole", "system:node", "-o", "json")) as ClusterRole;
    const withoutCreate = role.rules.map((rule) =>
      rule.resources?.includes("nodes") === true
        ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== "create") }
        : rule,
    );
    const setRules = (rules: ClusterRole["rules"]) => {
      const limited = { apiVersion: role.apiVersion, kind: role.kind, metadata: { name: "limited" }, rules };
      return cluster.kubectl("patch", "clusterrole", "limited", "--type=merge", "-p", JSON.stringify(limited));
    };
    await cluster.kubectl("create", "clusterrole", "limited", "--verb=get", "--resource=nodes");
    await setRules(withoutCreate.filter(({ resources }) => resources?.includes("csinodes") !== true));
    await cluster.kubectl("create", "clusterrolebinding", "limited", "--clusterrole=limited", "--user=limited");
    const labels = { "example.com/by": "operator" };
    const made = await admin.create(nodes, { metadata: { name: "made", labels } }, signal);
    const kubeconfig = join(node.directory, "limited.kubeconfig");
    await writeKubeconfig(cluster.layout, kubeconfig, await cluster.api.clientCertificate("limited", []));
    const flags = [`--kubeconfig=${kubeconfig}`, "--hostname-override=made"];
    await cluster.changeAgent(node.name, "deckhand", { flags });
    const condition = async () => ready(await nodeNamed("made"));
    await waitUntil("a reported status", 30_000, async () => (await condition())?.status === "False");
    assert.match((await condition())?.message ?? "", /CSINode is not yet initialized/);
    await setRules(withoutCreate);
    await waitUntil("the node to be ready", 30_000, () => isReady("made"));
    const { metadata } = await nodeNamed("made");
    assert.equal(metadata?.uid, made.metadata?.uid);
    assert.equal(metadata?.labels?.["kubernetes.io/hostname"], "made");
    assert.equal(metadata.labels["example.com/by"], "operator");
  });

  test("[3.3] [3.4] [3.5] a node with --cloud-provider=external has the uninitialized taint, and keeps the addresses set by the cloud", async () => {
    await registerAgain({
      flags: ["--cloud-provider=external"],
      configuration: { providerID: "cloud:///zone/1", registerWithTaints: [{ key: "own", effect: "NoExecute" }] },
    });
    await waitUntil("the node to be ready", 30_000, isReady);
    const { metadata, spec } = await ownNode();
    assert.equal(metadata?.annotations?.["alpha.kubernetes.io/provided-node-ip"], node.address);
    assert.equal(spec?.providerID, "cloud:///zone/1");
    const taints = spec.taints?.map(({ key, value = "", effect }) => `${key}=${value}:${effect}`) ?? [];
    for (const taint of ["own=:NoExecute", "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"]) {
      assert.ok(taints.includes(taint), taints.join());
    }
    const addresses = [
      { type: "ExternalIP", address: "203.0.113.9" },
      { type: "InternalIP", address: "192.0.2.77" },
      { type: "InternalIP", address: node.address },
    ];
    // The agent writes its status because it has to make this capacity allocatable.
    const patch = { kind: "merge", body: { status: { addresses, capacity: { "example.com/dongle": "4" } } } } as const;
    await admin.patch(nodes, { name: node.name }, patch, { subresource: "status" }, signal);
    const allocatable = async () => (await ownNode()).status?.allocatable?.["example.com/dongle"];
    await waitUntil("a report", 30_000, async () => (await allocatable()) === "4");
    assert.deepEqual((await ownNode()).status?.addresses, addresses);
  });

  test("[3.20] the agent passes the Node's podCIDR to the runtime", async () => {
    await registerAgain();
    await waitUntil("the node to be ready", 30_000, isReady);
    const body = { spec: { podCIDR: "198.18.7.0/24", podCIDRs: ["198.18.7.0/24"] } };
    await admin.patch(nodes, { name: node.name }, { kind: "merge", body }, {}, signal);
    const ranges = () =>
      (node.criProxy?.calls ?? []).flatMap(({ method, request, code }) =>
        method === "UpdateRuntimeConfig" && code === 0 ? [(request as RuntimeConfigRequest).runtimeConfig] : [],
      );
    await waitUntil("the runtime to have it", 15_000, async () => ranges().length > 0);
    assert.deepEqual(
      ranges().map((config) => config?.networkConfig?.podCidr),
      ["198.18.7.0/24"],
    );
  });

  test("[3.14] one patch changes the server's Node to any other status", async (t) => {
    const name = "patched";
    const condition = record({
      type: fc.constantFrom("A", "B", "C", "D", "Ready"),
      status: fc.constantFrom("True", "False", "Unknown"),
      reason: fc.constantFrom("X", "Y"),
      lastHeartbeatTime: fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
      lastTransitionTime: fc.constant("2026-01-01T00:00:00Z"),
    });
    // The server groups addresses of the same type even when the patch replaces the list.
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

/** Records with the prototype of parsed objects. */
const record = <T extends object>(model: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record<T>(model, { noNullPrototype: true });

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
}

interface ClusterRole {
  readonly apiVersion: string;
  readonly kind: string;
  readonly rules: readonly { readonly resources?: readonly string[]; readonly verbs: readonly string[] }[];
}

interface RuntimeConfigRequest {
  readonly runtimeConfig?: { readonly networkConfig?: { readonly podCidr?: string } };
}

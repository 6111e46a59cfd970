import assert from "node:assert/strict";
import { test } from "node:test";
import { machineFacts, nodeOptions, nodeSnapshot } from "../../../test/support/node-world.ts";
import type { Node } from "../../api/gen/core-v1.ts";
import { parseIp } from "../../base/ip-address.ts";
import { declaredFeatures } from "./declared-features.ts";
import { initialNode, type RegistrationOptions, reconciledNode } from "./initial-node.ts";
import { nodePatch } from "./node-patch.ts";
import { updatedNode } from "./node-status.ts";
import { RUNTIME_UNKNOWN } from "./runtime-health.ts";

const registration = (change: Partial<RegistrationOptions> = {}): RegistrationOptions => ({
  labels: {},
  taints: [],
  providerId: "",
  controllerAttach: true,
  resetExtendedResources: false,
  ...change,
});
const fresh = (change: Partial<RegistrationOptions> = {}, options = nodeOptions()) =>
  initialNode(registration(change), nodeSnapshot(), options).node;
const ip = (text: string) => parseIp(text) ?? assert.fail(text);

test("[3.2] [3.3] a new node has machine labels, overridden by --node-labels, and the attach-detach annotation", () => {
  const { metadata, spec } = fresh({ labels: { "kubernetes.io/hostname": "other", "example.com/a": "b" } });
  assert.deepEqual(metadata?.labels, {
    "beta.kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/hostname": "other",
    "kubernetes.io/os": "linux",
    "example.com/a": "b",
  });
  assert.deepEqual(metadata.annotations, { "volumes.kubernetes.io/controller-managed-attach-detach": "true" });
  assert.deepEqual(spec, {});
  assert.deepEqual(fresh({ controllerAttach: false }).metadata?.annotations, {});
});

test("[3.4] a new node has the configured taints, and the uninitialized taint with an external cloud provider", () => {
  const taint = { key: "example.com/x", effect: "NoExecute" };
  const options = nodeOptions({ externalCloud: true, nodeIps: [ip("192.0.2.1")] });
  const { spec, metadata } = fresh({ taints: [taint], providerId: "aws:///i-1" }, options);
  assert.deepEqual(spec, {
    taints: [taint, { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" }],
    providerID: "aws:///i-1",
  });
  assert.equal(metadata?.annotations?.["alpha.kubernetes.io/provided-node-ip"], "192.0.2.1");
  assert.deepEqual(fresh({ taints: [taint] }).spec, { taints: [taint] });
});

test("[3.9] the daemon endpoint has the kubelet's port", () => {
  const { node } = updatedNode({}, nodeSnapshot(), nodeOptions({ kubeletPort: 12_345 }));
  assert.deepEqual(node.status?.daemonEndpoints, { kubeletEndpoint: { Port: 12_345 } });
});

test("[3.1] re-registration restores machine labels and resources and keeps other labels, annotations and taints", () => {
  const initial = fresh({ labels: { "example.com/a": "new", "topology.kubernetes.io/zone": "z1" } });
  const existing: Node = {
    metadata: {
      name: "n1",
      labels: { "example.com/a": "old", "kubernetes.io/os": "windows", "node-role.kubernetes.io/x": "" },
      annotations: { "example.com/note": "kept" },
    },
    spec: { taints: [{ key: "kept", effect: "NoSchedule" }] },
    status: {
      capacity: { cpu: "64", "example.com/gpu": "4", "hugepages-32Mi": "32Mi" },
      allocatable: { cpu: "64", "example.com/gpu": "4", "hugepages-32Mi": "32Mi" },
      volumesAttached: [{ name: "v", devicePath: "/dev/x" }],
    },
  };
  const target = reconciledNode(existing, initial, registration({ resetExtendedResources: true }));
  assert.deepEqual(nodePatch(existing, target), {
    metadata: {
      labels: {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "n1",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": "z1",
      },
      annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
    },
    status: {
      capacity: { "example.com/gpu": "0", "hugepages-32Mi": null, "hugepages-2Mi": "4Mi", "hugepages-1Gi": "0" },
      allocatable: { "example.com/gpu": "0", "hugepages-32Mi": null, "hugepages-2Mi": "4Mi", "hugepages-1Gi": "0" },
    },
  });
});

test("[3.1] re-registration leaves a correct node unchanged and fills in a missing capacity", () => {
  const initial = fresh();
  assert.equal(nodePatch(initial, reconciledNode(initial, initial, registration())), undefined);
  const bare: Node = { ...initial, status: {} };
  assert.deepEqual(reconciledNode(bare, initial, registration()).status?.capacity, initial.status?.capacity);
});

test("[3.3] an annotation that no longer applies is removed", () => {
  const existing = fresh();
  const off = reconciledNode(existing, existing, registration({ controllerAttach: false }));
  assert.deepEqual(nodePatch(existing, off), {
    metadata: { annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": null } },
  });
  const metadata = { ...existing.metadata, annotations: { "alpha.kubernetes.io/provided-node-ip": "192.0.2.1" } };
  assert.deepEqual(
    updatedNode({ ...existing, metadata }, nodeSnapshot(), nodeOptions()).node.metadata?.annotations,
    {},
  );
});

test("[3.14] [27.4.1] a status update keeps fields of others, and its own while they cannot be read", () => {
  const before = updatedNode({}, nodeSnapshot({ volumesInUse: ["b", "a", "b"] }), nodeOptions()).node;
  const others = {
    volumesAttached: [{ name: "v", devicePath: "/dev/x" }],
    phase: "Running",
    declaredFeatures: ["InPlacePodVerticalScalingInitContainers"],
  };
  const known = { ...before, status: { ...before.status, ...others } };
  const blind = nodeSnapshot({
    machine: undefined,
    rootBytes: undefined,
    addresses: { kind: "keep", trouble: "no route" },
    runtime: RUNTIME_UNKNOWN,
    images: undefined,
  });
  const patch = nodePatch(known, updatedNode(known, blind, nodeOptions()).node);
  assert.deepEqual(patch, {
    status: {
      declaredFeatures: declaredFeatures({}),
      conditions: [
        {
          type: "Ready",
          status: "False",
          reason: "KubeletNotReady",
          message: "[container runtime status check may not have completed yet, network state unknown]",
        },
      ],
    },
  });
});

test("[3.19] volumesInUse is sorted without duplicates, and unchanged while unknown", () => {
  const { node } = updatedNode({}, nodeSnapshot({ volumesInUse: ["b", "a", "b"] }), nodeOptions());
  assert.deepEqual(node.status?.volumesInUse, ["a", "b"]);
  const kept = updatedNode(node, nodeSnapshot({ volumesInUse: undefined }), nodeOptions());
  assert.deepEqual(kept.node.status?.volumesInUse, ["a", "b"]);
});

test("[3.8] [3.16] a reboot and a changed condition are reported as events with upstream's messages", () => {
  const { node } = updatedNode({}, nodeSnapshot(), nodeOptions());
  const machine = { ...machineFacts, bootId: "boot-2" };
  const { events } = updatedNode(node, nodeSnapshot({ machine, runtime: RUNTIME_UNKNOWN }), nodeOptions());
  assert.deepEqual(events, [
    { type: "Warning", reason: "Rebooted", message: "Node n1 has been rebooted, boot id: boot-2" },
    { type: "Normal", reason: "NodeNotReady", message: "Node n1 status is now: NodeNotReady" },
  ]);
});

test("[3.6] [3.12] without local storage isolation ephemeral-storage is neither reported nor required", () => {
  const options = nodeOptions({ localStorage: false });
  const { node } = updatedNode({}, nodeSnapshot({ rootBytes: undefined }), options);
  assert.equal(node.status?.capacity?.["ephemeral-storage"], undefined);
  assert.equal(node.status?.conditions?.at(-1)?.status, "True");
  const missing = updatedNode({}, nodeSnapshot({ rootBytes: undefined }), nodeOptions()).node.status?.conditions?.at(
    -1,
  );
  assert.equal(missing?.message, "missing node capacity for resources: ephemeral-storage");
});

test("[3.14] changed addresses replace the whole list, also with two of one type", () => {
  const of = (...addresses: readonly string[]) =>
    updatedNode(
      {},
      nodeSnapshot({
        addresses: { kind: "set", addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
      }),
      nodeOptions(),
    ).node;
  assert.deepEqual(nodePatch(of("192.0.2.1", "fd00::1"), of("192.0.2.2")), {
    status: { addresses: [{ type: "InternalIP", address: "192.0.2.2" }, { $patch: "replace" }] },
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeLabelFault } from "../../app/options/names.ts";
import { machineLabels } from "./node-labels.ts";

test("[3.2] a node is labeled with hostname, OS and architecture, in the beta form too", () => {
  assert.deepEqual(machineLabels("n1", "arm64"), {
    "beta.kubernetes.io/arch": "arm64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "arm64",
    "kubernetes.io/hostname": "n1",
    "kubernetes.io/os": "linux",
  });
});

for (const key of [
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
  "kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "node.kubernetes.io/anything",
  "a.b.node.kubernetes.io/x",
  "kubelet.kubernetes.io/x",
  "x.kubelet.kubernetes.io/x",
  "example.com/role",
  "notkubernetes.io/x",
  "plain",
]) {
  test(`[3.2] a node may label itself ${key}`, () => assert.equal(nodeLabelFault({ [key]: "x" }), undefined));
}

test("[3.2] --node-labels in reserved kubernetes.io and k8s.io names are all refused in one message", () => {
  const labels = { "node-role.kubernetes.io/worker": "", "x.k8s.io/y": "", "k8s.io/a": "", "example.com/fine": "" };
  assert.equal(
    nodeLabelFault(labels),
    "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: " +
      "[k8s.io/a node-role.kubernetes.io/worker x.k8s.io/y]\n" +
      "--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix " +
      "(kubelet.kubernetes.io, node.kubernetes.io) or be in the specifically allowed set " +
      "(beta.kubernetes.io/arch, beta.kubernetes.io/instance-type, beta.kubernetes.io/os, " +
      "failure-domain.beta.kubernetes.io/region, failure-domain.beta.kubernetes.io/zone, kubernetes.io/arch, " +
      "kubernetes.io/hostname, kubernetes.io/os, node.kubernetes.io/instance-type, topology.kubernetes.io/region, " +
      "topology.kubernetes.io/zone)",
  );
});

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Audit } from "./audit.ts";

const TEST = "[sig-node] Probing container should restart [NodeConformance] [Conformance]";

function line(event: object): string {
  return JSON.stringify({ verb: "create", requestReceivedTimestamp: "2026-11-16T05:00:00.000000Z", ...event });
}

const byTest = { userAgent: `e2e.test/v1.36.4 (linux/amd64) kubernetes/abc -- ${TEST}` };
const namespaceMade = line({ ...byTest, objectRef: { resource: "namespaces", name: "probes-1" } });
const podMade = (namespace: string, by: object = byTest) =>
  line({
    ...by,
    objectRef: { resource: "pods", namespace, name: "one" },
    requestObject: { metadata: { name: "one" } },
  });
const rejected = (namespace: string, message: string) =>
  line({
    verb: "patch",
    userAgent: "kubelet",
    objectRef: { resource: "pods", subresource: "status", namespace, name: "one" },
    requestObject: { status: { phase: "Failed", reason: "NotSupported", message } },
  });

void suite("audit log of a conformance run", () => {
  test("a pod's rejection is attributed to the test that owns the pod's namespace", () => {
    const audit = new Audit();
    for (const each of [
      namespaceMade,
      podMade("probes-1"),
      rejected("probes-1", "this node agent does not support spec.containers[0].volumeDevices yet"),
      rejected("other-2", "this node agent does not support spec.initContainers yet"),
    ])
      audit.note(each);
    const trace = audit.of(TEST);
    assert.deepEqual([...(trace?.waitsFor ?? [])], ["raw block volumes"]);
    assert.deepEqual([...(trace?.namespaces ?? [])], ["probes-1"]);
    assert.deepEqual(
      trace?.pods.map(({ name }) => name),
      ["one"],
    );
    assert.deepEqual(audit.tests(), [TEST]);
  });

  test("pods that controllers create in a test's namespace belong to the test, pods in other namespaces do not", () => {
    const audit = new Audit();
    for (const each of [
      namespaceMade,
      podMade("probes-1", { userAgent: "kube-controller-manager/v1.36.4" }),
      podMade("other-2", { userAgent: "kube-controller-manager/v1.36.4" }),
    ])
      audit.note(each);
    assert.deepEqual(
      audit.of(TEST)?.pods.map(({ namespace }) => namespace),
      ["probes-1"],
    );
  });

  test("features that a test's pods request are recorded even if the agent supports them", () => {
    const audit = new Audit();
    const spec = { containers: [{ name: "c", volumeDevices: [{}] }], resourceClaims: [{ name: "r" }] };
    audit.note(namespaceMade);
    audit.note(line({ ...byTest, objectRef: { resource: "pods", namespace: "probes-1" }, requestObject: { spec } }));
    assert.deepEqual([...(audit.of(TEST)?.asks ?? [])], ["resource claims", "raw block volumes"]);
    assert.deepEqual([...(audit.of(TEST)?.waitsFor ?? [])], []);
  });

  test("a pod that failed for another reason adds no feature to wait for", () => {
    const audit = new Audit();
    const status = { phase: "Failed", reason: "Evicted", message: "this node agent does not support spec.x yet" };
    const pod = { resource: "pods", namespace: "probes-1", name: "one" };
    audit.note(namespaceMade);
    audit.note(line({ verb: "patch", objectRef: { ...pod, subresource: "status" }, requestObject: { status } }));
    assert.deepEqual([...(audit.of(TEST)?.waitsFor ?? [])], []);
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { container, pod } from "../../../../test/support/pods.ts";
import type { PodSpec, ResourceFieldSelector } from "../../../api/gen/core-v1.ts";
import type { ReferredText } from "./field-reference.ts";
import { variableResource, volumeResource } from "./resource-reference.ts";

const ALLOCATABLE = {
  cpu: "3920m",
  memory: "8Gi",
  "ephemeral-storage": "47093746742",
  "hugepages-2Mi": "4Mi",
  pods: "110",
};
const FULL = container("full", {
  resources: {
    requests: { cpu: "250m", memory: "64M", "ephemeral-storage": "1Gi", "hugepages-2Mi": "6Mi" },
    limits: { cpu: "1500m", memory: "128Mi", "ephemeral-storage": "3Gi", "hugepages-2Mi": "6Mi" },
  },
});
const BARE = container("bare");

const shown = (answer: ReferredText) => (answer.kind === "text" ? answer.text : `refused: ${answer.message}`);
const of = (selector: ResourceFieldSelector, spec: Partial<PodSpec> = {}, own = FULL) =>
  shown(variableResource(selector, pod({ containers: [FULL, BARE], ...spec }), own, ALLOCATABLE));

for (const [resource, divisor, value] of [
  ["limits.cpu", undefined, "2"],
  ["limits.cpu", "1", "2"],
  ["limits.cpu", "0", "2"],
  ["limits.cpu", "1m", "1500"],
  ["limits.cpu", "7m", "215"],
  ["requests.cpu", undefined, "1"],
  ["requests.cpu", "1m", "250"],
  ["limits.memory", undefined, "134217728"],
  ["limits.memory", "1Mi", "128"],
  ["limits.memory", "1M", "135"],
  ["limits.memory", "1Gi", "1"],
  ["requests.memory", "1Mi", "62"],
  ["limits.ephemeral-storage", "1Gi", "3"],
  ["requests.ephemeral-storage", undefined, "1073741824"],
  ["limits.hugepages-2Mi", "1Mi", "6"],
  ["requests.hugepages-2Mi", undefined, "6291456"],
  ["limits.hugepages-1Gi", undefined, "0"],
] as const) {
  test(`[24.9] ${resource} in units of ${divisor ?? "one"} is ${value}`, () =>
    assert.equal(of({ resource, ...(divisor === undefined ? {} : { divisor }) }), value));
}

test("[24.9] an unset or zero limit defaults to the node's allocatable, an unset request to zero", () => {
  const zero = container("zero", { resources: { limits: { cpu: "0", memory: "0" } } });
  for (const own of [BARE, zero]) {
    assert.equal(of({ resource: "limits.cpu" }, {}, own), "4");
    assert.equal(of({ resource: "limits.cpu", divisor: "1m" }, {}, own), "3920");
    assert.equal(of({ resource: "limits.memory" }, {}, own), "8589934592");
    assert.equal(of({ resource: "limits.ephemeral-storage" }, {}, own), "47093746742");
    assert.equal(of({ resource: "limits.hugepages-2Mi" }, {}, own), "0", "huge pages have no default");
    assert.equal(of({ resource: "requests.cpu" }, {}, own), "0");
  }
});

test("[24.9] a pod-level limit takes precedence over the node's allocatable, for CPU and memory only", () => {
  const spec = { resources: { limits: { cpu: "2", memory: "1Gi", "ephemeral-storage": "1Gi" } } };
  assert.equal(of({ resource: "limits.cpu" }, spec, BARE), "2");
  assert.equal(of({ resource: "limits.memory", divisor: "1Mi" }, spec, BARE), "1024");
  assert.equal(of({ resource: "limits.ephemeral-storage" }, spec, BARE), "47093746742");
  assert.equal(of({ resource: "limits.cpu", divisor: "1m" }, spec, FULL), "1500");
});

test("[24.9] a resourceFieldRef may name another container, and an unknown container is refused", () => {
  const initContainers = [container("first", { resources: { limits: { cpu: "3" } } })];
  const spec = { initContainers };
  assert.equal(of({ containerName: "full", resource: "requests.cpu", divisor: "1m" }, spec, BARE), "250");
  assert.equal(of({ containerName: "bare", resource: "limits.cpu" }, spec), "4");
  assert.equal(of({ containerName: "first", resource: "limits.cpu" }, spec), "3");
  assert.equal(
    of({ containerName: "first", resource: "limits.memory" }, spec),
    "0",
    "named from elsewhere it has no default",
  );
  assert.equal(of({ containerName: "none", resource: "limits.cpu" }, spec), "refused: container none not found");
});

for (const resource of ["limits.pods", "cpu", "limits", "requests.example.com/gpu", "", "xlimits.cpu"]) {
  test(`[24.9] "${resource}" is refused`, () =>
    assert.equal(of({ resource }), `refused: unsupported container resource : ${resource}`));
}

test("[13.9] in a volume the container must be named, and only the node's allocatable is the default", () => {
  const spec = {
    containers: [FULL, BARE],
    initContainers: [container("first")],
    resources: { limits: { cpu: "2" } },
  };
  const inFile = (selector: ResourceFieldSelector) => shown(volumeResource(selector, pod(spec), ALLOCATABLE));
  assert.equal(inFile({ containerName: "full", resource: "limits.memory", divisor: "1Mi" }), "128");
  assert.equal(inFile({ containerName: "bare", resource: "limits.cpu" }), "4");
  assert.equal(inFile({ containerName: "first", resource: "limits.cpu" }), "4");
  assert.equal(inFile({ resource: "limits.cpu" }), "refused: container  not found");
});

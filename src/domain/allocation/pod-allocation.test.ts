import assert from "node:assert/strict";
import { test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import {
  containerAllocation,
  hasExclusiveCpus,
  isContainerAllocations,
  specAllocation,
  withContainerAllocation,
} from "./pod-allocation.ts";

test("a pod is allocated what its spec requests, and its containers get no exclusive resources", () => {
  const requests = { cpu: "1" };
  assert.deepEqual(specAllocation(pod({ containers: [container("app", { resources: { requests } })] })), {
    resources: { containers: { app: { requests } } },
    containers: {},
  });
});

test("a container's new allocation is merged into its earlier one, and devices are appended", () => {
  const first = withContainerAllocation(specAllocation(pod()), "app", {
    cpus: "2-3",
    devices: [{ resource: "example.com/a", ids: ["0"] }],
  });
  const second = withContainerAllocation(first, "app", {
    memoryNodes: "0",
    devices: [{ resource: "example.com/b", ids: ["7"] }],
  });
  assert.deepEqual(containerAllocation(second.containers, "app"), {
    cpus: "2-3",
    memoryNodes: "0",
    devices: [
      { resource: "example.com/a", ids: ["0"] },
      { resource: "example.com/b", ids: ["7"] },
    ],
  });
  assert.deepEqual(
    [hasExclusiveCpus(second.containers), hasExclusiveCpus({ app: { memoryNodes: "0" } })],
    [true, false],
  );
});

test("a container named like an Object property has no allocation until it is given one", () => {
  assert.deepEqual(containerAllocation({}, "constructor"), {});
  const { containers } = withContainerAllocation(specAllocation(pod()), "constructor", { cpus: "1" });
  assert.deepEqual(containerAllocation(containers, "constructor"), { cpus: "1" });
});

test("a stored allocation must have known fields of the right type; unknown fields are ignored", () => {
  for (const good of [{}, { app: {} }, { app: { cpus: "1", devices: [{ resource: "r", ids: ["1"] }], claims: [] } }]) {
    assert.ok(isContainerAllocations(good), JSON.stringify(good));
  }
  const devices = [{}, [{}], [{ resource: "r", ids: [1] }], [{ resource: 1, ids: [] }], [null]];
  const wrong = [null, [], { app: null }, { app: { cpus: 1 } }, { app: { memoryNodes: [] } }];
  for (const bad of [...wrong, ...devices.map((each) => ({ app: { devices: each } }))]) {
    assert.ok(!isContainerAllocations(bad), JSON.stringify(bad));
  }
});

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

test("a pod is allocated what its spec requests, and its containers have nothing for themselves", () => {
  const requests = { cpu: "1" };
  assert.deepEqual(specAllocation(pod({ containers: [container("app", { resources: { requests } })] })), {
    resources: { containers: { app: { requests } } },
    containers: {},
  });
});

test("what a container is given is added to what it has, devices after those before", () => {
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

test("a container with the name of an object's property has nothing unless it was given something", () => {
  assert.deepEqual(containerAllocation({}, "constructor"), {});
  const { containers } = withContainerAllocation(specAllocation(pod()), "constructor", { cpus: "1" });
  assert.deepEqual(containerAllocation(containers, "constructor"), { cpus: "1" });
});

test("what was read from a disk is an allocation of containers with texts and lists where they belong; a later field is passed over", () => {
  for (const good of [{}, { app: {} }, { app: { cpus: "1", devices: [{ resource: "r", ids: ["1"] }], claims: [] } }]) {
    assert.ok(isContainerAllocations(good), JSON.stringify(good));
  }
  const devices = [{}, [{}], [{ resource: "r", ids: [1] }], [{ resource: 1, ids: [] }], [null]];
  const wrong = [null, [], { app: null }, { app: { cpus: 1 } }, { app: { memoryNodes: [] } }];
  for (const bad of [...wrong, ...devices.map((each) => ({ app: { devices: each } }))]) {
    assert.ok(!isContainerAllocations(bad), JSON.stringify(bad));
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { layoutOf, NODES_MAX, SLOT_MAX } from "./layout.ts";

test("clusters and nodes never share an address, interface, directory or cgroup", () => {
  const seen = new Set<string>();
  const claim = (thing: string) => {
    assert.ok(!seen.has(thing), `${thing} is taken`);
    seen.add(thing);
  };
  for (let slot = 0; slot < SLOT_MAX; slot += 1) {
    const layout = layoutOf(`c${slot}`, slot);
    for (const thing of [layout.address, layout.machineAddress, layout.machineInterface, layout.directory])
      claim(thing);
    claim(layout.cgroupParent);
    for (const index of [0, 1, NODES_MAX - 1]) {
      const node = layout.node(index);
      for (const thing of [node.address, node.directory, node.cgroupParent, node.containerdSocket]) claim(thing);
    }
  }
});

test("addresses lie in 198.18.0.0/15, with link subnets apart from the pod and Service ranges", () => {
  for (const slot of [0, SLOT_MAX - 1]) {
    const layout = layoutOf("x", slot);
    assert.match(layout.address, /^198\.19\.(12[89]|1[3-9]\d|2\d\d)\.2$/);
    assert.match(layout.node(NODES_MAX - 1).podRange, /^198\.18\.\d+\.0\/24$/);
  }
});

test("interface names have at most 15 bytes and socket paths fewer than 108", () => {
  const layout = layoutOf("a".repeat(20), SLOT_MAX - 1);
  assert.ok(layout.machineInterface.length <= 15);
  assert.ok(Buffer.byteLength(layout.node(NODES_MAX - 1).containerdSocket) < 108);
});

test("rejects names that could escape the cluster's directory, and slots out of range", () => {
  for (const name of ["", "../x", "A", "a b", "-a", "a".repeat(21)]) assert.throws(() => layoutOf(name, 0), /name/);
  assert.throws(() => layoutOf("a", SLOT_MAX), /slot/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { layoutOf, NODES_MAX, SLOT_MAX } from "./layout.ts";

test("no two clusters and no two nodes share an address, an interface, a folder or a cgroup", () => {
  const seen = new Set<string>();
  const claim = (thing: string) => {
    assert.ok(!seen.has(thing), `${thing} is taken`);
    seen.add(thing);
  };
  for (let slot = 0; slot < SLOT_MAX; slot += 1) {
    const layout = layoutOf(`c${slot}`, slot);
    for (const thing of [layout.address, layout.machineAddress, layout.machineInterface, layout.folder]) claim(thing);
    claim(layout.cgroupParent);
    for (const index of [0, 1, NODES_MAX - 1]) {
      const node = layout.node(index);
      for (const thing of [node.address, node.folder, node.cgroupParent, node.containerdSocket]) claim(thing);
    }
  }
});

test("every address lies in the ranges set aside for tests, pods and services apart from the links", () => {
  for (const slot of [0, SLOT_MAX - 1]) {
    const layout = layoutOf("x", slot);
    assert.match(layout.address, /^198\.19\.(12[89]|1[3-9]\d|2\d\d)\.2$/);
    assert.match(layout.node(NODES_MAX - 1).podRange, /^198\.18\.\d+\.0\/24$/);
  }
});

test("names are short enough for interfaces and sockets", () => {
  const layout = layoutOf("a".repeat(20), SLOT_MAX - 1);
  assert.ok(layout.machineInterface.length <= 15);
  assert.ok(Buffer.byteLength(layout.node(NODES_MAX - 1).containerdSocket) < 108);
});

test("a name that could reach outside its folder is refused", () => {
  for (const name of ["", "../x", "A", "a b", "-a", "a".repeat(21)]) assert.throws(() => layoutOf(name, 0), /name/);
  assert.throws(() => layoutOf("a", SLOT_MAX), /slot/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cgroupPath,
  KUBEPODS,
  parseCgroupPath,
  podCgroupName,
  podParents,
  podUidOf,
  runtimeParent,
} from "./cgroup-name.ts";

const UID = "8dbc75ce-1234-4d1c-9a62-0e3b2f0c1a55";

void test("[14.3] pods live below their class, Guaranteed ones directly below kubepods", () => {
  assert.equal(cgroupPath(podCgroupName("Guaranteed", UID), "cgroupfs"), `/kubepods/pod${UID}`);
  assert.equal(cgroupPath(podCgroupName("Burstable", UID), "cgroupfs"), `/kubepods/burstable/pod${UID}`);
  assert.equal(cgroupPath(podCgroupName("BestEffort", UID), "cgroupfs"), `/kubepods/besteffort/pod${UID}`);
  assert.deepEqual(
    podParents.map((name) => cgroupPath(name, "cgroupfs")),
    ["/kubepods", "/kubepods/burstable", "/kubepods/besteffort"],
  );
});

void test("[14.3] systemd's slices repeat the names above them, with dashes turned into underscores", () => {
  const slice = "kubepods-burstable-pod8dbc75ce_1234_4d1c_9a62_0e3b2f0c1a55.slice";
  const name = podCgroupName("Burstable", UID);
  assert.equal(cgroupPath(name, "systemd"), `/kubepods.slice/kubepods-burstable.slice/${slice}`);
  assert.equal(cgroupPath(["my-root", ...KUBEPODS], "systemd"), "/my_root.slice/my_root-kubepods.slice");
  assert.equal(cgroupPath([], "systemd"), "/");
});

void test("[27.3.8] a runtime is given the path, or only the slice's own name", () => {
  const name = podCgroupName("BestEffort", "u1");
  assert.equal(runtimeParent(name, "cgroupfs"), "/kubepods/besteffort/podu1");
  assert.equal(runtimeParent(name, "systemd"), "kubepods-besteffort-podu1.slice");
});

void test("[14.3] a root of one's own stands before kubepods, however it is written", () => {
  for (const root of ["/x/n1", "x/n1", "/x/n1/"]) {
    assert.equal(cgroupPath([...parseCgroupPath(root), ...KUBEPODS], "cgroupfs"), "/x/n1/kubepods", root);
  }
  assert.deepEqual(parseCgroupPath("/"), []);
  assert.deepEqual(parseCgroupPath(""), []);
});

void test("the UID is found in a pod's name and nowhere else", () => {
  assert.equal(podUidOf(`pod${UID}`), UID);
  for (const part of ["burstable", "pod", "podxpody", "xpod1"]) assert.equal(podUidOf(part), undefined, part);
});

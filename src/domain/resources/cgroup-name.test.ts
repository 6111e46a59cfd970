import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cgroupNameOf,
  cgroupPath,
  childName,
  KUBEPODS,
  parseCgroupPath,
  podCgroupName,
  podParents,
  podUidOf,
  sliceOf,
} from "./cgroup-name.ts";

const UID = "8dbc75ce-1234-4d1c-9a62-0e3b2f0c1a55";

void test("[14.3] pod cgroups are below their QoS class, Guaranteed ones directly below kubepods", () => {
  assert.equal(cgroupPath(podCgroupName("Guaranteed", UID), "cgroupfs"), `/kubepods/pod${UID}`);
  assert.equal(cgroupPath(podCgroupName("Burstable", UID), "cgroupfs"), `/kubepods/burstable/pod${UID}`);
  assert.equal(cgroupPath(podCgroupName("BestEffort", UID), "cgroupfs"), `/kubepods/besteffort/pod${UID}`);
  assert.deepEqual(
    podParents.map((name) => cgroupPath(name, "cgroupfs")),
    ["/kubepods", "/kubepods/burstable", "/kubepods/besteffort"],
  );
});

void test("[14.3] systemd slice names repeat their parents, with dashes replaced by underscores", () => {
  const slice = "kubepods-burstable-pod8dbc75ce_1234_4d1c_9a62_0e3b2f0c1a55.slice";
  const name = podCgroupName("Burstable", UID);
  assert.equal(cgroupPath(name, "systemd"), `/kubepods.slice/kubepods-burstable.slice/${slice}`);
  assert.equal(cgroupPath(["my-root", ...KUBEPODS], "systemd"), "/my_root.slice/my_root-kubepods.slice");
  assert.equal(cgroupPath([], "systemd"), "/");
});

void test("[14.3] a slice's unit name encodes its path", () => {
  assert.equal(sliceOf(podCgroupName("BestEffort", "u-1")), "kubepods-besteffort-podu_1.slice");
  assert.equal(sliceOf([]), "-.slice");
});

void test("[27.3.8] the cgroup parent for the runtime is the full path, with both drivers", () => {
  const name = podCgroupName("BestEffort", "u1");
  assert.equal(cgroupPath(name, "cgroupfs"), "/kubepods/besteffort/podu1");
  const slices = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu1.slice";
  assert.equal(cgroupPath(name, "systemd"), slices);
});

void test("[14.3] slice directories map back to cgroup names; foreign directories do not", () => {
  const name = podCgroupName("Burstable", UID);
  const directory = cgroupPath(name, "systemd").split("/").at(-1) ?? "";
  assert.equal(childName(name.slice(0, -1), directory, "systemd"), `pod${UID}`);
  assert.equal(childName(KUBEPODS, "kubepods-burstable.slice", "systemd"), "burstable");
  assert.equal(childName(["my-root", "kubepods"], "my_root-kubepods-podu1.slice", "systemd"), "podu1");
  for (const other of ["cri-containerd-1.scope", "kubepods.slice", "system-x.slice", "kubepods-x", "podu1"]) {
    assert.equal(childName(KUBEPODS, other, "systemd"), undefined, other);
  }
  assert.equal(childName(KUBEPODS, "podu1", "cgroupfs"), "podu1");
});

void test("[14.8] a configured cgroup path is parsed according to the driver", () => {
  assert.deepEqual(cgroupNameOf("/system.slice", "systemd"), ["system"]);
  assert.deepEqual(cgroupNameOf("/my_root.slice/my_root-kube.slice", "systemd"), ["my-root", "kube"]);
  assert.deepEqual(cgroupNameOf("/", "systemd"), []);
  assert.deepEqual(cgroupNameOf("/system.slice", "cgroupfs"), ["system.slice"]);
});

void test("a UID that a slice name cannot encode is refused", () => {
  assert.throws(() => podCgroupName("Burstable", "a_b"), { name: "BugError" });
  assert.throws(() => podCgroupName("Burstable", "a/b"), { name: "BugError" });
});

void test("[14.3] cgroupRoot comes before kubepods, with or without slashes around it", () => {
  for (const root of ["/x/n1", "x/n1", "/x/n1/"]) {
    assert.equal(cgroupPath([...parseCgroupPath(root), ...KUBEPODS], "cgroupfs"), "/x/n1/kubepods", root);
  }
  assert.deepEqual(parseCgroupPath("/"), []);
  assert.deepEqual(parseCgroupPath(""), []);
});

void test("the UID is found only in the name of a pod cgroup", () => {
  assert.equal(podUidOf(`pod${UID}`), UID);
  for (const part of ["burstable", "pod", "podxpody", "xpod1"]) assert.equal(podUidOf(part), undefined, part);
});

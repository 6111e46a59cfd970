import assert from "node:assert/strict";
import { test } from "node:test";
import { cgroupVersionErrors, singleProcessOomKillOn } from "./cgroup-version.ts";

void test("[14.1] cgroup v1 is refused unless the configuration allows it; v2 never is", () => {
  const strict = { failCgroupV1: true, singleProcessOomKill: undefined };
  assert.deepEqual(cgroupVersionErrors(1, strict), [
    "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release",
  ]);
  assert.deepEqual(cgroupVersionErrors(1, { ...strict, failCgroupV1: false }), []);
  assert.deepEqual(cgroupVersionErrors(2, strict), []);
});

void test("[14.1] what only v2 can do is refused on v1, and only when asked for", () => {
  const asked = { failCgroupV1: false, singleProcessOomKill: false };
  assert.deepEqual(cgroupVersionErrors(1, asked), [
    "invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1",
  ]);
  assert.deepEqual(cgroupVersionErrors(2, asked), []);
  assert.deepEqual([singleProcessOomKillOn(1, undefined), singleProcessOomKillOn(2, undefined)], [true, false]);
  assert.equal(singleProcessOomKillOn(2, true), true);
});

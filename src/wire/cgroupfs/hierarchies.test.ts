import assert from "node:assert/strict";
import { test } from "node:test";
import { parseHierarchies } from "./hierarchies.ts";

const at = (path: string, type: string, options: string) => `${type} ${path} ${type} rw,relatime,${options} 0 0`;

void test("[14.1] a cgroup2 mount at /sys/fs/cgroup is version 2", () => {
  const mounts = ["proc /proc proc rw 0 0", at("/sys/fs/cgroup", "cgroup2", "nsdelegate"), ""].join("\n");
  assert.deepEqual(parseHierarchies(mounts), { version: 2, path: "/sys/fs/cgroup" });
});

void test("[14.1] a hybrid machine is version 1, with its cgroup2 mount listed without controllers", () => {
  const mounts = [
    at("/sys/fs/cgroup/cpu,cpuacct", "cgroup", "cpu,cpuacct"),
    at("/sys/fs/cgroup/memory", "cgroup", "memory"),
    at("/sys/fs/cgroup/systemd", "cgroup", "xattr,name=systemd"),
    at("/sys/fs/cgroup/unified", "cgroup2", "nsdelegate"),
  ];
  assert.deepEqual(parseHierarchies(mounts.join("\n")), {
    version: 1,
    mounts: [
      { path: "/sys/fs/cgroup/memory", controllers: ["memory"] },
      { path: "/sys/fs/cgroup/systemd", controllers: ["name=systemd"] },
      { path: "/sys/fs/cgroup/cpu,cpuacct", controllers: ["cpu", "cpuacct"] },
      { path: "/sys/fs/cgroup/unified", controllers: [] },
    ],
  });
});

void test("the shortest path of a controller's mounts wins, and mounts outside /sys/fs/cgroup are ignored", () => {
  const mounts = [
    at("/sys/fs/cgroup/memory-again", "cgroup", "memory"),
    at("/sys/fs/cgroup/memory", "cgroup", "memory"),
    at("/somewhere/else", "cgroup", "cpu"),
  ];
  assert.deepEqual(parseHierarchies(mounts.join("\n")), {
    version: 1,
    mounts: [{ path: "/sys/fs/cgroup/memory", controllers: ["memory"] }],
  });
});

void test("a machine without cgroup mounts is rejected", () => {
  assert.throws(() => parseHierarchies("proc /proc proc rw 0 0\n"), /no control groups are mounted/);
});

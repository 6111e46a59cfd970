import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeCgroup, ownHierarchyMounts } from "./cgroups.ts";

/**
 * Creates a directory with the files of a hierarchy's root. The kernel would add files to new directories; here only
 * files that the code writes appear.
 */
async function hierarchy(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "deckhand-cgroup-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(root, name), content);
  return root;
}

test("cgroup v1: a new cgroup inherits the cpuset CPUs and memory nodes of its parent", async (t) => {
  const root = await hierarchy(t, { "cpuset.cpus": "0-3\n", "cpuset.mems": "0\n" });
  await makeCgroup("/a/b", [root]);
  assert.equal(await readFile(join(root, "a/b/cpuset.cpus"), "utf8"), "0-3\n");
  assert.equal(await readFile(join(root, "a/b/cpuset.mems"), "utf8"), "0\n");
});

test("cgroup v2: enables controllers in every parent but not in the leaf, and writes no cpuset", async (t) => {
  const root = await hierarchy(t, { "cgroup.controllers": "cpuset memory\n", "cpuset.cpus": "0-3\n" });
  // The files that the kernel would create in the new directory between `mkdir` and the first write.
  await mkdir(join(root, "a"));
  await writeFile(join(root, "a/cgroup.controllers"), "memory\n");
  await writeFile(join(root, "a/cpuset.cpus"), "\n");
  await makeCgroup("/a/b", [root]);
  assert.equal(await readFile(join(root, "cgroup.subtree_control"), "utf8"), "+cpuset +memory");
  assert.equal(await readFile(join(root, "a/cgroup.subtree_control"), "utf8"), "+memory");
  assert.deepEqual(await readdir(join(root, "a/b")), []);
});

test("cgroup v1: a node's own hierarchies have the machine's controllers and names, without other options", () => {
  const mounts = [
    "tmpfs /sys/fs/cgroup tmpfs ro,mode=755 0 0",
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0",
    "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,relatime,cpu,cpuacct 0 0",
    "cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,release_agent=/lib/agent,name=systemd 0 0",
  ].join("\n");
  assert.deepEqual(ownHierarchyMounts(mounts), [
    "umount --recursive /sys/fs/cgroup",
    "mount -t tmpfs tmpfs /sys/fs/cgroup",
    "mkdir /sys/fs/cgroup/cpu,cpuacct",
    "mount -t cgroup -o cpu,cpuacct cgroup /sys/fs/cgroup/cpu,cpuacct",
    "mkdir /sys/fs/cgroup/systemd",
    "mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd",
  ]);
});

test("cgroup v2: a node cannot have its own hierarchies, and the error says what it needs", () => {
  assert.throws(() => ownHierarchyMounts("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"), /needs cgroup v1/);
});

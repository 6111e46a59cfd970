import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeCgroup } from "./cgroups.ts";

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

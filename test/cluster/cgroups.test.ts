import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeCgroup } from "./cgroups.ts";

/** A folder with the files a hierarchy's root has. The kernel would add files to new folders; here only what we write appears. */
async function hierarchy(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "deckhand-cgroup-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(root, name), content);
  return root;
}

test("in a v1 cpuset every new cgroup gets the CPUs and memory nodes of its parent", async (t) => {
  const root = await hierarchy(t, { "cpuset.cpus": "0-3\n", "cpuset.mems": "0\n" });
  await makeCgroup("/a/b", [root]);
  assert.equal(await readFile(join(root, "a/b/cpuset.cpus"), "utf8"), "0-3\n");
  assert.equal(await readFile(join(root, "a/b/cpuset.mems"), "utf8"), "0\n");
});

test("in v2 controllers are handed down above a leaf, never in it, and cpusets are left alone", async (t) => {
  const root = await hierarchy(t, { "cgroup.controllers": "cpuset memory\n", "cpuset.cpus": "0-3\n" });
  // What the kernel would put into the new folder between the two.
  await mkdir(join(root, "a"));
  await writeFile(join(root, "a/cgroup.controllers"), "memory\n");
  await writeFile(join(root, "a/cpuset.cpus"), "\n");
  await makeCgroup("/a/b", [root]);
  assert.equal(await readFile(join(root, "cgroup.subtree_control"), "utf8"), "+cpuset +memory");
  assert.equal(await readFile(join(root, "a/cgroup.subtree_control"), "utf8"), "+memory");
  assert.deepEqual(await readdir(join(root, "a/b")), []);
});

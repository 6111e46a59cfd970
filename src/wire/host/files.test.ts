import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { hostFilesContract } from "../../../test/contract/host-files-contract.ts";
import { hostClock } from "./clock.ts";
import { createHostFiles } from "./files.ts";

const create = () => createHostFiles({ clock: hostClock, watchPauses: { watchedMs: 10_000, unwatchedMs: 20 } });
const scratch = () => mkdtempSync(join(tmpdir(), "deckhand-files-"));

/** Only root may give a file to another user. */
const asRoot = process.getuid?.() === 0;

hostFilesContract("the host's files", async () => {
  const directory = scratch();
  const [uid, gid] = asRoot ? [1234, 5678] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return { files: create(), directory, uid, gid, end: async () => rmSync(directory, { recursive: true }) };
});

void test("[27.1.14] overwrite keeps the file's inode, so that an open descriptor reads the new content", async () => {
  const directory = scratch();
  const [path, files] = [join(directory, "hosts"), create()];
  await files.overwrite(path, Buffer.from("a long first content"), 0o644);
  const before = statSync(path);
  const reader = openSync(path, "r");
  await files.overwrite(path, Buffer.from("short"), 0o644);
  const seen = Buffer.alloc(100);
  assert.equal(seen.subarray(0, readSync(reader, seen, 0, 100, 0)).toString(), "short");
  closeSync(reader);
  assert.deepEqual([statSync(path).ino, statSync(path).mode & 0o777], [before.ino, 0o644]);
  rmSync(directory, { recursive: true });
});

void test("removeTree removes a tree of 400 levels with fewer than 80 open files", async () => {
  const directory = scratch();
  const open = () => readdirSync("/proc/self/fd").length;
  const before = open();
  execFileSync("sh", ["-c", "i=0; while [ $i -lt 400 ]; do mkdir d; : > f; cd -P d; i=$((i+1)); done"], {
    cwd: directory,
  });
  let openMax = 0;
  const sampler = setInterval(() => {
    openMax = Math.max(openMax, open());
  }, 1);
  await create().removeTree(directory);
  clearInterval(sampler);
  assert.equal(existsSync(directory), false);
  assert.ok(openMax - before < 80, `${openMax - before} files open`);
});

void test("removeTree removes names that are not UTF-8, and leftovers of an interrupted removal", async () => {
  const directory = scratch();
  writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff, 0xfe, 0x41])]), "x");
  mkdirSync(join(directory, ".deckhand-removing-1/below"), { recursive: true });
  execFileSync("sh", ["-c", `mkdir -p ${"d/".repeat(140)}`], { cwd: directory });
  await create().removeTree(directory);
  assert.equal(existsSync(directory), false);
});

void test("writeAtomically replaces a leftover temporary file, and a planted link without following it", async () => {
  const directory = scratch();
  const files = create();
  writeFileSync(join(directory, "victim"), "untouched");
  symlinkSync("victim", join(directory, ".a.tmp"));
  await files.writeAtomically(join(directory, "a"), Buffer.from("new"), 0o600);
  writeFileSync(join(directory, ".a.tmp"), "left over, and longer than what comes");
  await files.writeAtomically(join(directory, "a"), Buffer.from("newer"), 0o600);
  const found = await Promise.all(["victim", "a"].map((name) => files.read(join(directory, name), 99)));
  assert.deepEqual(found.map(String), ["untouched", "newer"]);
  assert.deepEqual(await files.list(directory), ["a", "victim"]);
  rmSync(directory, { recursive: true });
});

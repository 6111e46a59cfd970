import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { holderOf } from "./holders.ts";

test("holderOf names a process with an open file or its working directory below the directory", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "holders-"));
  t.after(() => rmSync(directory, { recursive: true }));
  assert.equal(holderOf(directory), undefined);
  const file = openSync(join(directory, "file"), "w");
  try {
    assert.match(holderOf(directory) ?? "", new RegExp(`^pid ${process.pid} \\(.+\\), by an open file$`));
    assert.equal(holderOf(`${directory}-other`), undefined);
  } finally {
    closeSync(file);
  }
  const before = process.cwd();
  process.chdir(directory);
  try {
    assert.match(holderOf(directory) ?? "", /, by its working directory$/);
  } finally {
    process.chdir(before);
  }
});

test("holderOf names a process in another mount namespace, after those in our own", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "holders-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const script = 'mount -t tmpfs holders "$1" && cd "$1" && echo in && exec sleep 60';
  const other = spawn(
    "unshare",
    [...(process.getuid?.() === 0 ? [] : ["--map-root-user"]), "--mount", "sh", "-ec", script, "sh", directory],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  await once(other.stdout, "data");
  try {
    assert.equal(holderOf(directory), `pid ${other.pid} (sleep), by its working directory`);
    const file = openSync(join(directory, "file"), "w");
    assert.match(holderOf(directory) ?? "", new RegExp(`^pid ${process.pid} `));
    closeSync(file);
  } finally {
    other.kill("SIGKILL");
    await once(other, "exit");
  }
});

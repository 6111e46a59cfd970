import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { holderOf } from "./holders.ts";

test("whoever works in a folder, or has a file of it open, is named; of others nothing is said", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "holders-"));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.equal(holderOf(folder), undefined);
  const file = openSync(join(folder, "file"), "w");
  try {
    assert.match(holderOf(folder) ?? "", new RegExp(`^pid ${process.pid} \\(.+\\), by an open file$`));
    assert.equal(holderOf(`${folder}-other`), undefined);
  } finally {
    closeSync(file);
  }
  const before = process.cwd();
  process.chdir(folder);
  try {
    assert.match(holderOf(folder) ?? "", /, by its working folder$/);
  } finally {
    process.chdir(before);
  }
});

test("so is one in another mount namespace, after those in ours", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "holders-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const script = 'mount -t tmpfs holders "$1" && cd "$1" && echo in && exec sleep 60';
  const other = spawn(
    "unshare",
    [...(process.getuid?.() === 0 ? [] : ["--map-root-user"]), "--mount", "sh", "-ec", script, "sh", folder],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  await once(other.stdout, "data");
  try {
    assert.equal(holderOf(folder), `pid ${other.pid} (sleep), by its working folder`);
    const file = openSync(join(folder, "file"), "w");
    assert.match(holderOf(folder) ?? "", new RegExp(`^pid ${process.pid} `));
    closeSync(file);
  } finally {
    other.kill("SIGKILL");
    await once(other, "exit");
  }
});

import assert from "node:assert/strict";
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

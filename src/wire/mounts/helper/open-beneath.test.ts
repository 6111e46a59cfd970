import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { SUBPATH_LINKS_MAX } from "../../limits.ts";
import { HelperError } from "./helper-error.ts";
import { openBeneath } from "./open-beneath.ts";

test("openBeneath follows as many links as the limit allows, and rejects one more as unsafePath", (t) => {
  const volume = mkdtempSync(join(tmpdir(), "below-"));
  t.after(() => rmSync(volume, { recursive: true }));
  mkdirSync(join(volume, "0"));
  for (let link = 1; link <= SUBPATH_LINKS_MAX + 1; link += 1) symlinkSync(`${link - 1}`, join(volume, `${link}`));
  using found = openBeneath(volume, `${SUBPATH_LINKS_MAX}`);
  assert.ok(found.stat().isDirectory());
  assert.throws(
    () => openBeneath(volume, `${SUBPATH_LINKS_MAX + 1}`),
    (error: unknown) =>
      error instanceof HelperError && error.code === "unsafePath" && /too many links/.test(error.message),
  );
});

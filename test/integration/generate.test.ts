/** The committed generated sources are what the generators make of the pinned parts. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { generateApiTypesFromCluster } from "../../tools/generate/api-types.ts";

async function textsBelow(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder)).toSorted();
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
  );
}

void test("the API's types, made anew from the running server, are the committed ones", async (t) => {
  const root = await mkdtemp(join(tmpdir(), "deckhand-generate-"));
  t.after(() => rm(root, { recursive: true }));
  await generateApiTypesFromCluster(root);
  const committed = await textsBelow(join(import.meta.dirname, "../../src/api/gen"));
  assert.deepEqual(await textsBelow(join(root, "src/api/gen")), committed);
  for (const [name, text] of committed) {
    assert.ok(!/\/\*|\bfunction\b|\bconst\b/.test(text), `${name} holds more than names and shapes`);
  }
});

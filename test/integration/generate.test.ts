/** Checks that the committed generated code is what the generators produce from their pinned inputs. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { generators } from "../../tools/generate.ts";
import { inRepository, repositoryRoot } from "../../tools/repository.ts";

test("every directory of generated code, which no linter checks, has a generator", () => {
  const directories = globSync("src/**/gen", { cwd: repositoryRoot });
  assert.deepEqual(directories.sort(), generators.map(({ output }) => output).sort());
});

for (const generator of generators) {
  test(`${generator.name} generates exactly what is committed in ${generator.output}`, async (t) => {
    const scratch = await mkdtemp(join(tmpdir(), "deckhand-regenerate-"));
    t.after(() => rm(scratch, { recursive: true, force: true }));
    await generator.make(scratch);
    const [committed, made] = [await tree(inRepository(generator.output)), await tree(scratch)];
    assert.ok(made.size > 0, "the generator made nothing");
    assert.deepEqual([...committed.keys()], [...made.keys()]);
    for (const [name, text] of made) assert.ok(committed.get(name) === text, `${name} differs: run npm run generate`);
  });
}

async function tree(directory: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sorted = names.sort();
  return new Map(
    await Promise.all(
      sorted.map(async (name) => [name.slice(directory.length + 1), await readFile(name, "utf8")] as const),
    ),
  );
}

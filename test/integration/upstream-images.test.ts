import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { moduleDirectory } from "../cluster/parts.ts";
import { NOT_WANTED, WANTED } from "../conformance/upstream-images.ts";

test("every image in upstream's own list is in WANTED or NOT_WANTED", async () => {
  const directory = await moduleDirectory("conformance", "k8s.io/kubernetes");
  const source = await readFile(join(directory, "test", "utils", "image", "manifest.go"), "utf8");
  const registries = new Map(
    [...source.matchAll(/^\t\t(\w+): +"([^"]+)",$/gm)].map(([, name = "", address = ""]) => [name, address]),
  );
  const entries = [...source.matchAll(/configs\[(\w+)\] = Config\{list\.(\w+), "([^"]+)", "([^"]+)"\}/g)].map(
    ([, id = "", registry = "", name = "", tag = ""]) => [id, `${registries.get(registry)}/${name}:${tag}`] as const,
  );
  assert.deepEqual(
    Object.fromEntries(entries.filter(([id]) => !(NOT_WANTED as readonly string[]).includes(id))),
    WANTED,
  );
});

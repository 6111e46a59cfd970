/** A cache entry that is slow to create: reports what is being created, and how long it took. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { cached } from "../../cluster/cache.ts";

export type Report = (line: string) => void;

export async function made(
  { kind, key, report }: { readonly kind: string; readonly key: string; readonly report: Report },
  make: (scratch: string) => Promise<void>,
): Promise<string> {
  return cached("conformance", `${kind}-${key}`, async (scratch) => {
    const startedMs = Date.now();
    report(`making ${kind}`);
    await make(scratch);
    report(`${kind}: ${((Date.now() - startedMs) / 1000).toFixed(0)} s`);
  });
}

/** The key of something made from these files and settings. */
export async function keyFor(files: readonly string[], settings: unknown): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(await readFile(file));
  hash.update(JSON.stringify(settings));
  return hash.digest("hex").slice(0, 16);
}

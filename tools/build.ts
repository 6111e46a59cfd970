/** `npm run build`: dist/deckhand.js, one bundle, and dist/deckhand, a single executable with Node inside. */
import { rmSync, statSync } from "node:fs";
import { buildBundle } from "./build/bundle.ts";
import { buildExecutable } from "./build/executable.ts";
import { inRepository } from "./repository.ts";

const bundle = "dist/deckhand.js";
const executable = "dist/deckhand";

rmSync(inRepository("dist"), { recursive: true, force: true });
await buildBundle(inRepository(bundle));
const { stripped } = buildExecutable(inRepository(bundle), inRepository(executable));
for (const path of [bundle, executable]) {
  process.stdout.write(`${path}: ${(statSync(inRepository(path)).size / 1e6).toFixed(1)} MB\n`);
}
if (!stripped)
  process.stdout.write("strip is not installed: the executable holds Node's symbols and is larger for it\n");

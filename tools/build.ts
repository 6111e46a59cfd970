/** `npm run build`: dist/deckhand.js, one bundle, and dist/deckhand, a single executable with Node inside; the bundle's papers beside it. */
import { statSync } from "node:fs";
import { buildProgram } from "./build/program.ts";
import { inRepository } from "./repository.ts";

const { bundle, executable, stripped } = await buildProgram(inRepository("dist"));
for (const path of [bundle, executable]) {
  process.stdout.write(`${path}: ${(statSync(path).size / 1e6).toFixed(1)} MB\n`);
}
if (!stripped)
  process.stdout.write("strip is not installed: the executable holds Node's symbols and is larger for it\n");

/**
 * `npm run build [-- arm64]` writes dist/deckhand.js, one bundle, and dist/deckhand, a single executable that includes
 * Node. The bundle's licenses and SBOM are written beside it. With the name of another architecture it also writes
 * dist/deckhand-<machine> for that architecture.
 */
import { statSync } from "node:fs";
import { relative } from "node:path";
import { otherMachine } from "./build/other-node.ts";
import { buildForOther, buildProgram } from "./build/program.ts";
import { inRepository, repositoryRoot } from "./repository.ts";
import { scriptArguments } from "./script-arguments.ts";

const USAGE = `Usage: npm run build [-- arm64]

Builds dist/deckhand.js, one bundle, and dist/deckhand, a single executable that includes Node. With the name of another
architecture it also builds the executable for that architecture.
`;

const wanted = scriptArguments(USAGE, { allowPositionals: true }).positionals.map(otherMachine);
const program = await buildProgram(inRepository("dist"));
const { bundle, executable, stripped } = program;
const others = wanted.map((machine) => buildForOther(program, machine).executable);
for (const path of [bundle, executable, ...others]) {
  process.stdout.write(`${relative(repositoryRoot, path)}: ${(statSync(path).size / 1e6).toFixed(1)} MB\n`);
}
if (!stripped)
  process.stdout.write("strip is not installed: the executable holds Node's symbols and is larger for it\n");

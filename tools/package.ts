/**
 * `npm run package [-- [--to directory] [arm64]]`: builds the program (as `npm run build`) and packages it below dist,
 * or below another directory: a Debian package, an OCI image and an npm package, with their SHA-256 in `SHA256SUMS`.
 * For another architecture it builds a Debian package.
 */
import { statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { otherMachine } from "./build/other-node.ts";
import { buildForOther, buildProgram } from "./build/program.ts";
import { buildDebFor, buildPackages, writeChecksums } from "./package/packages.ts";
import { inRepository, repositoryRoot } from "./repository.ts";
import { scriptArguments } from "./script-arguments.ts";

const USAGE = `Usage: npm run package [-- [--to DIRECTORY] [arm64]]

Builds the program and packages it: a Debian package, an OCI image and an npm package, with SHA256SUMS. With the name of
another architecture it also builds that Debian package.

  --to DIRECTORY   where the packages are written (default dist)
`;

const { values, positionals } = scriptArguments(USAGE, { allowPositionals: true, options: { to: { type: "string" } } });
const wanted = positionals.map(otherMachine);
const program = await buildProgram(resolve(values.to ?? inRepository("dist")));
const directory = join(program.directory, "packages");
const { deb, image, npm } = buildPackages(program, directory);
const others = wanted.map((machine) => buildDebFor(machine, buildForOther(program, machine), directory));
const files = [deb, image, npm, ...others];
writeChecksums(files, directory);
for (const file of files) {
  process.stdout.write(`${relative(repositoryRoot, file)}: ${(statSync(file).size / 1e6).toFixed(1)} MB\n`);
}

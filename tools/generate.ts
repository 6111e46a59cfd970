/**
 * Regenerates the committed generated code: `node tools/generate.ts [name...]`, all generators without a name. Each
 * generator writes into a temporary directory first, so that a failure leaves the committed code unchanged.
 */
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiTypes } from "./generate/api-types.ts";
import type { Generator } from "./generate/generator.ts";
import { protobufGenerators } from "./generate/protobuf.ts";
import { inRepository } from "./repository.ts";
import { scriptArguments, usageError } from "./script-arguments.ts";

export const generators: readonly Generator[] = [apiTypes, ...protobufGenerators];

async function run(generator: Generator): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), "deckhand-generate-"));
  try {
    const made = join(scratch, "made");
    await mkdir(made);
    await generator.make(made);
    const output = inRepository(generator.output);
    await rm(output, { recursive: true, force: true });
    await cp(made, output, { recursive: true });
    console.log(`${generator.name}: ${generator.output}`);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function main(names: readonly string[]): Promise<void> {
  const unknown = names.filter((name) => !generators.some((generator) => generator.name === name));
  if (unknown.length > 0) usageError(`there is no generator ${unknown.join(", ")}`);
  for (const generator of generators) if (names.length === 0 || names.includes(generator.name)) await run(generator);
}

const USAGE = `Usage: npm run generate [-- NAME ...]

Regenerates the committed generated code: that of the named generators, or all of it. The generators are
${generators.map(({ name }) => name).join(", ")}.
`;

if (import.meta.main) await main(scriptArguments(USAGE, { allowPositionals: true }).positionals);

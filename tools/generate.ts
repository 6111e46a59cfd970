/**
 * `node tools/generate.ts [name...]` makes the generated sources anew, all of them or those named. The output is committed, so
 * that a build needs neither the programs nor the cluster it came from; a test regenerates and finds no difference.
 */
import { join } from "node:path";
import { generateApiTypesFromCluster } from "./generate/api-types.ts";

interface Generator {
  readonly name: string;
  /** Writes below another root than the repository's when a test compares. */
  readonly run: (outputRoot: string) => Promise<void>;
}

const generators: readonly Generator[] = [{ name: "api-types", run: generateApiTypesFromCluster }];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !generators.some((generator) => generator.name === name));
if (unknown.length > 0) {
  const known = generators.map((generator) => generator.name).join(", ");
  console.error(`unknown generator ${unknown.join(", ")}; there are: ${known}`);
  process.exit(2);
}
for (const generator of generators) {
  if (wanted.length > 0 && !wanted.includes(generator.name)) continue;
  await generator.run(join(import.meta.dirname, ".."));
  console.log(`generated ${generator.name}`);
}

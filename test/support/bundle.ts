/** Builds the bundle, as it is shipped, from these sources into a directory of the test. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buildBundle } from "../../tools/build/bundle.ts";

/** Creates the directory and returns the path of the bundle. */
export async function bundleIn(directory: string): Promise<string> {
  const bundle = join(directory, "deckhand.js");
  await mkdir(directory, { recursive: true });
  await buildBundle(bundle);
  // As in the package. Without it, Node.js would first try to parse the bundle as CommonJS at every start.
  await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
  return bundle;
}

/** The program as it is shipped, built from these sources into a folder of a test's. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buildBundle } from "../../tools/build/bundle.ts";

/** Makes the folder, and answers with the file to start. */
export async function bundleIn(folder: string): Promise<string> {
  const bundle = join(folder, "deckhand.js");
  await mkdir(folder, { recursive: true });
  await buildBundle(bundle);
  // As in the package: without it Node would first try to read the bundle as CommonJS, at every start.
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  return bundle;
}

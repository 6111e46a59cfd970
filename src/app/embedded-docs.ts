/**
 * Documents shipped with the program: the licenses and the bill of materials of its contents. The build creates them
 * (`tools/build/embedded-docs.ts`) and puts them into the executable, or beside the bundle; the sources have none.
 */
import { readFile } from "node:fs/promises";
import { getAsset, isSea } from "node:sea";
import { errorText } from "../base/error-text.ts";
import type { EmbeddedDoc } from "./commands/io.ts";

const FILES: Readonly<Record<EmbeddedDoc, string>> = { licences: "licences.txt", sbom: "sbom.cdx.json" };

export async function readEmbeddedDoc(doc: EmbeddedDoc): Promise<string> {
  const name = FILES[doc];
  if (isSea()) return getAsset(name, "utf8");
  try {
    return await readFile(new URL(name, import.meta.url), "utf8");
  } catch (error) {
    throw new Error(`what is built has this list (npm run build), the sources do not: ${errorText(error)}`, {
      cause: error,
    });
  }
}

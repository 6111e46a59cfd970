/**
 * The commands of a documentation page, for the test that types them. `tools/docs.test.ts` checks that a test types
 * each section's examples.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inRepository } from "../../tools/repository.ts";

/** The commands below a heading, in their order. */
export function examplesUnder(page: string, heading: string): readonly string[] {
  const sections = readFileSync(inRepository(page), "utf8").split(/^## /m);
  const section = sections.find((each) => each.startsWith(`${heading}\n`)) ?? "";
  const lines = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, body = ""]) => body.trim().split("\n"));
  assert.notEqual(lines.length, 0, `${page} has no examples under "${heading}"`);
  return lines;
}

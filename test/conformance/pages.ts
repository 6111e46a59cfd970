/** Writes docs/conformance.md and the README's sentence from the recorded runs of both agents. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { docsPage, readmeLine, withReadmeLine } from "./report.ts";
import { places, readExplained, readReport } from "./report-file.ts";

/** The expected content of each page, by its path. */
export function pagesOfRecordedRuns(root = repositoryRoot): Readonly<Record<string, string>> {
  const at = (path: string) => join(root, path);
  const [go, deckhand] = [readReport(at(places.baseline)), readReport(at(places.latest))];
  const broken = existsSync(at(places.broken)) ? readReport(at(places.broken)) : undefined;
  return {
    [places.page]: docsPage(go, deckhand, readExplained(at(places.explained)), broken),
    [places.readme]: withReadmeLine(readFileSync(at(places.readme), "utf8"), readmeLine(go, deckhand)),
  };
}

export function writePages(root = repositoryRoot): void {
  for (const [path, page] of Object.entries(pagesOfRecordedRuns(root))) writeFileSync(join(root, path), page);
}

/**
 * Counts expressions that belong to no vocabulary of Kubernetes, in identifiers, comments, strings, titles, file names
 * and Markdown.
 *
 * Whole words count, in any case; an identifier is split at capitals, underscores and dashes, so `podFolder` counts. What has to stay
 * is an exception with its reason, and an exception that nothing needs any more fails the run.
 */
import { readFileSync } from "node:fs";
import { git, inRepository } from "./repository.ts";
import { scriptArguments } from "./script-arguments.ts";

const EXPRESSIONS =
  /\b(?:folders?|told|tells of|telling|asked for|taken in|turned away|is over|anew|mend(?:s|ed|ing)?|strangers?|furnish(?:es|ed|ings)?|last words)\b/gi;

const USAGE = `Usage: npm run words [-- [--list] [PATH ...]]

Counts expressions that belong to no vocabulary of Kubernetes, in the files below the PATHs or in all files of the
repository. Exit codes: 0 none, 1 some, 2 usage error.

  --list   print each place
`;

const TEXT_FILES = /\.(?:ts|md|sh|ya?ml|json|mjs|go|c|service)$/;

interface Exception {
  readonly path: RegExp;
  /** Of the line; all lines of the path when there is none. */
  readonly line?: RegExp;
  readonly reason: string;
}

const EXCEPTIONS: readonly Exception[] = [
  { path: /ordinary-differential\/observe\.ts$/, line: /\btold: await/, reason: "a name inside recorded answers" },
  { path: /^tools\/words(?:\.test)?\.ts$/, reason: "the list itself" },
  { path: /^test\/golden\/journal-b656062\//, reason: "a journal that an earlier agent wrote" },
  {
    path: /^docs\/(?:proofs\/|compatibility\.md|gate-times\.json)/,
    reason: "written by runs, with the titles of their time",
  },
  { path: /./, line: /folder-unwritable/, reason: "the name of a finding of doctor is public" },
  { path: /./, line: /["{ ]told["':]/, reason: "the kind of a record in journals on disk" },
  {
    path: /^test\/integration\/endpoints-differential\//,
    line: /stranger/,
    reason: "an asker of recorded questions",
  },
  {
    path: /^test\/integration\/restart-differential\//,
    line: /told/,
    reason: "names inside recorded requests",
  },
  {
    path: /^test\/(?:integration\/roles-differential\/cases|mutants\/areas)\//,
    line: /last-words/,
    reason: "names of recorded cases",
  },
  {
    path: /^test\//,
    line: /ordinary\/folder|host-folder|"folder-|"folder"|folder\/inner|^tree folder;|}\/folder[`"]/,
    reason: "names inside recorded cases",
  },
];

export interface Place {
  readonly path: string;
  /** 1 for the first; 0 for the file's name. */
  readonly line: number;
  readonly expression: string;
}

/** Splits identifiers into words. */
const inWords = (text: string): string => text.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll(/[_-]/g, " ");

const expressionsIn = (text: string): readonly string[] =>
  (inWords(text).match(EXPRESSIONS) ?? []).map((expression) => expression.toLowerCase());

/** The places in a file, and the exceptions that it needs. */
export function placesIn(
  path: string,
  text: string,
  exceptions: readonly Exception[] = EXCEPTIONS,
): { readonly places: readonly Place[]; readonly needed: ReadonlySet<Exception> } {
  const places: Place[] = [];
  const needed = new Set<Exception>();
  for (const [line, content] of [path, ...text.split("\n")].entries()) {
    const found = expressionsIn(content);
    if (found.length === 0) continue;
    const exception = exceptions.find((one) => one.path.test(path) && (one.line?.test(content) ?? true));
    if (exception === undefined) places.push(...found.map((expression) => ({ path, line, expression })));
    else needed.add(exception);
  }
  return { places, needed };
}

function main(): number {
  const { values, positionals } = scriptArguments(USAGE, {
    allowPositionals: true,
    options: { list: { type: "boolean", default: false } },
  });
  const files = git("ls-files", "--", ...positionals)
    .split("\n")
    .filter((path) => TEXT_FILES.test(path));
  const found = files.map((path) => placesIn(path, readFileSync(inRepository(path), "utf8")));
  const places = found.flatMap((one) => one.places);
  if (values.list)
    for (const { path, line, expression } of places) process.stdout.write(`${path}:${line}: ${expression}\n`);
  for (const [area, of] of Map.groupBy(places, ({ path }) => path.split("/").slice(0, 2).join("/"))) {
    process.stdout.write(`${String(of.length).padStart(5)}  ${area}\n`);
  }
  const unneeded =
    positionals.length > 0 ? [] : EXCEPTIONS.filter((one) => !found.some(({ needed }) => needed.has(one)));
  for (const { reason } of unneeded) process.stdout.write(`an exception is not needed any more: ${reason}\n`);
  process.stdout.write(
    `${places.length} expressions in ${new Set(places.map(({ path }) => path)).size} of ${files.length} files\n`,
  );
  return places.length + unneeded.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = main();

/**
 * Lists what a program contains: the packages that contribute to its bundle, and Node if it includes it. Each has its
 * license and the texts that must be distributed with it. The build fails if the license of a package is unknown.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { inRepository } from "../repository.ts";
import { fields, parseJson, text } from "../shape.ts";

export interface Piece {
  readonly name: string;
  readonly version: string;
  /** As an SPDX expression. */
  readonly licence: string;
  /** License and notice texts that must be distributed verbatim. */
  readonly notices: string;
  readonly hash: { readonly algorithm: "SHA-256" | "SHA-512"; readonly hex: string };
}

export interface Runtime extends Piece {
  /**
   * The components of the runtime and their versions, by the names it gives them. Their licenses are among its notices.
   */
  readonly parts: Readonly<Record<string, string>>;
}

export interface Contents {
  /** Deckhand's own version and license. */
  readonly version: string;
  readonly licence: string;
  readonly packages: readonly Piece[];
  readonly runtime?: Runtime;
}

export function contentsOf(sources: readonly string[], runtime?: Runtime): Contents {
  const manifest = fields(parseJson(read("package.json")), "package.json");
  const own = { version: text(manifest["version"], "version"), licence: read("LICENSE") };
  const packages = packagesIn(sources);
  return runtime === undefined ? { ...own, packages } : { ...own, packages, runtime };
}

const read = (path: string) => readFileSync(inRepository(path), "utf8");

const PACKAGE = /^(?<directory>.*node_modules\/(?<name>(?:@[^/]+\/)?[^/]+))\//;

function packagesIn(sources: readonly string[]): readonly Piece[] {
  const lock = fields(fields(parseJson(read("package-lock.json")), "package-lock.json")["packages"], "packages");
  const byDirectory = Map.groupBy(sources, (path) => PACKAGE.exec(path)?.groups?.["directory"]);
  return [...byDirectory].flatMap(([directory, files]) =>
    directory === undefined ? [] : packageIn(directory, files, lock),
  );
}

function packageIn(directory: string, files: readonly string[], lock: Readonly<Record<string, unknown>>): Piece {
  const manifest = fields(parseJson(read(`${directory}/package.json`)), directory);
  const name = text(manifest["name"], directory);
  const integrity = text(fields(lock[directory], directory)["integrity"], `integrity of ${directory}`);
  const [, sha512] = /^sha512-(.+)$/.exec(integrity) ?? [];
  if (sha512 === undefined) throw new Error(`${directory} is pinned by another hash than SHA-512: ${integrity}`);
  return {
    name,
    version: text(manifest["version"], directory),
    licence: text(manifest["license"], `licence of ${directory}`).replaceAll(/^\(|\)$/g, ""),
    notices: noticesOf(directory, files),
    hash: { algorithm: "SHA-512", hex: Buffer.from(sha512, "base64").toString("hex") },
  };
}

/** The package's license and notice files, or without any the leading comments of its sources. */
function noticesOf(directory: string, sources: readonly string[]): string {
  const names = readdirSync(inRepository(directory)).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name));
  const texts = names.length > 0 ? names.map((name) => read(`${directory}/${name}`)) : sources.map(firstComment);
  const distinct = [...new Set(texts.map((each) => each.trim()))].filter((each) => each !== "");
  if (!distinct.some((each) => /licen[cs]e|redistribut|permission/i.test(each))) {
    throw new Error(`${directory} says nowhere under which terms it may be passed on`);
  }
  return distinct.join("\n\n");
}

function firstComment(path: string): string {
  const [lines = ""] = /^(?:\/\/.*\n)*/.exec(read(path)) ?? [];
  return lines.replaceAll(/^\/\/ ?/gm, "");
}

/** Entries of process.versions that are versions of an interface or a table, not of a component. */
const NOT_PARTS = new Set(["node", "modules", "napi", "cldr", "tz", "unicode"]);

/** Describes a Node binary of the same release as the running Node: only that release can list its components. */
export function nodeRuntime(program: string): Runtime {
  const parts = Object.entries(process.versions).flatMap(([name, version]) =>
    NOT_PARTS.has(name) || version === undefined || version === "" ? [] : [[name, version] as const],
  );
  return {
    name: "node",
    version: process.versions.node,
    licence: "MIT",
    notices: readFileSync(join(dirname(dirname(realpathSync(program))), "LICENSE"), "utf8").trim(),
    hash: { algorithm: "SHA-256", hex: sha256OfFile(program) },
    parts: Object.fromEntries(parts.toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

export const sha256OfFile = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

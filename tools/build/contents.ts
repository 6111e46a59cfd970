/**
 * What a program of ours is made of: the packages of which something is in its bundle, and the Node around it if it has one, each with its
 * licence and the texts that must go with it. A package whose terms cannot be told fails the build.
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
  /** What its authors want to be passed on, word for word. */
  readonly notices: string;
  readonly hash: { readonly algorithm: "SHA-256" | "SHA-512"; readonly hex: string };
}

export interface Runtime extends Piece {
  /** What it was made of itself, by the names it gives them. Their terms are among its notices. */
  readonly parts: Readonly<Record<string, string>>;
}

export interface Contents {
  /** Ours. */
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

const PACKAGE = /^(?<folder>.*node_modules\/(?<name>(?:@[^/]+\/)?[^/]+))\//;

function packagesIn(sources: readonly string[]): readonly Piece[] {
  const lock = fields(fields(parseJson(read("package-lock.json")), "package-lock.json")["packages"], "packages");
  const byFolder = Map.groupBy(sources, (path) => PACKAGE.exec(path)?.groups?.["folder"]);
  return [...byFolder].flatMap(([folder, files]) => (folder === undefined ? [] : packageIn(folder, files, lock)));
}

function packageIn(folder: string, files: readonly string[], lock: Readonly<Record<string, unknown>>): Piece {
  const manifest = fields(parseJson(read(`${folder}/package.json`)), folder);
  const name = text(manifest["name"], folder);
  const integrity = text(fields(lock[folder], folder)["integrity"], `integrity of ${folder}`);
  const [, sha512] = /^sha512-(.+)$/.exec(integrity) ?? [];
  if (sha512 === undefined) throw new Error(`${folder} is pinned by another hash than SHA-512: ${integrity}`);
  return {
    name,
    version: text(manifest["version"], folder),
    licence: text(manifest["license"], `licence of ${folder}`).replaceAll(/^\(|\)$/g, ""),
    notices: noticesOf(folder, files),
    hash: { algorithm: "SHA-512", hex: Buffer.from(sha512, "base64").toString("hex") },
  };
}

/** The files it has for that; without any, what its sources say at their beginning. */
function noticesOf(folder: string, sources: readonly string[]): string {
  const names = readdirSync(inRepository(folder)).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name));
  const texts = names.length > 0 ? names.map((name) => read(`${folder}/${name}`)) : sources.map(firstComment);
  const distinct = [...new Set(texts.map((each) => each.trim()))].filter((each) => each !== "");
  if (!distinct.some((each) => /licen[cs]e|redistribut|permission/i.test(each))) {
    throw new Error(`${folder} says nowhere under which terms it may be passed on`);
  }
  return distinct.join("\n\n");
}

function firstComment(path: string): string {
  const [lines = ""] = /^(?:\/\/.*\n)*/.exec(read(path)) ?? [];
  return lines.replaceAll(/^\/\/ ?/gm, "");
}

/** Of process.versions, what is a number of an interface or of a table, and no program. */
const NOT_PARTS = new Set(["node", "modules", "napi", "cldr", "tz", "unicode"]);

/** A Node as it was taken, of the release of the one that runs this: only that one can say what it is made of. */
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

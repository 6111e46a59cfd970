/** Builds all packages of one build into a directory. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { sha256OfFile } from "../build/contents.ts";
import type { BuiltProgram, OtherProgram } from "../build/program.ts";
import { git, inRepository } from "../repository.ts";
import { fields, parseJson, text } from "../shape.ts";
import { buildDeb, DEBIAN_NAMES } from "./deb.ts";
import { buildImageArchive } from "./image.ts";
import { buildNpmPackage } from "./npm.ts";

export interface Packages {
  readonly deb: string;
  readonly image: string;
  readonly npm: string;
}

export function buildPackages(program: BuiltProgram, directory: string): Packages {
  mkdirSync(directory, { recursive: true });
  const { executable, docs } = program;
  const image = { executable, docs, version: ownVersion(), architecture: debianName(process.arch) };
  return {
    deb: buildDebFor(process.arch, program, directory),
    image: buildImageArchive(image, directory),
    npm: buildNpmPackage(program.directory, directory),
  };
}

/** Writes the checksums of these files in the format of `sha256sum --check`. Returns the file's path. */
export function writeChecksums(files: readonly string[], directory: string): string {
  const output = join(directory, "SHA256SUMS");
  const lineOf = (file: string) => `${sha256OfFile(file)}  ${basename(file)}\n`;
  writeFileSync(output, files.toSorted().map(lineOf).join(""));
  return output;
}

/** `machine` is Node's architecture name. Returns the path of the package. */
export function buildDebFor(
  machine: string,
  { executable, docs }: OtherProgram,
  directory: string,
  version: string = ownVersion(),
): string {
  const architecture = debianName(machine);
  const versions = { version, kubernetes: kubernetesVersion() };
  return buildDeb({ executable, docs, ...versions, architecture, epoch: commitSeconds() }, directory);
}

function debianName(machine: string): string {
  const name = DEBIAN_NAMES[machine];
  if (name === undefined) throw new Error(`there are no packages for ${machine}`);
  return name;
}

function ownVersion(): string {
  const manifest = fields(parseJson(readFileSync(inRepository("package.json"), "utf8")), "package.json");
  return text(manifest["version"], "version");
}

/** The Kubernetes release whose kubelet it replaces, from the sources. */
function kubernetesVersion(): string {
  const source = readFileSync(inRepository("src/app/version.ts"), "utf8");
  const found = /^export const KUBERNETES_VERSION = "v(?<version>[^"]+)"/m.exec(source)?.groups?.["version"];
  if (found === undefined) throw new Error("src/app/version.ts names no release of Kubernetes");
  return found;
}

/** The commit's time, so that two builds of one commit contain the same time. */
const commitSeconds = (): number => Number(git("log", "-1", "--format=%ct"));

/** All packages of one build, in a folder. */
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

export function buildPackages(program: BuiltProgram, folder: string): Packages {
  mkdirSync(folder, { recursive: true });
  const { executable, papers } = program;
  const image = { executable, papers, version: ownVersion(), architecture: debianName(process.arch) };
  return {
    deb: buildDebFor(process.arch, program, folder),
    image: buildImageArchive(image, folder),
    npm: buildNpmPackage(program.folder, folder),
  };
}

/** Of these files, as `sha256sum --check` reads them. Answers with the file. */
export function writeChecksums(files: readonly string[], folder: string): string {
  const output = join(folder, "SHA256SUMS");
  const lineOf = (file: string) => `${sha256OfFile(file)}  ${basename(file)}\n`;
  writeFileSync(output, files.toSorted().map(lineOf).join(""));
  return output;
}

/** For the kind of machine that Node calls so. Answers with the file. */
export function buildDebFor(
  machine: string,
  { executable, papers }: OtherProgram,
  folder: string,
  version: string = ownVersion(),
): string {
  const architecture = debianName(machine);
  const versions = { version, kubernetes: kubernetesVersion() };
  return buildDeb({ executable, papers, ...versions, architecture, epoch: commitSeconds() }, folder);
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

/** Whose kubelet it stands in for, as the sources have it. */
function kubernetesVersion(): string {
  const source = readFileSync(inRepository("src/app/version.ts"), "utf8");
  const found = /^export const KUBERNETES_VERSION = "v(?<version>[^"]+)"/m.exec(source)?.groups?.["version"];
  if (found === undefined) throw new Error("src/app/version.ts names no release of Kubernetes");
  return found;
}

/** Two builds of one commit have the same time in them. */
const commitSeconds = (): number => Number(git("log", "-1", "--format=%ct"));

/** Generates the texts that ship with a program: all licenses, and the SBOM (CycloneDX). Same contents, same bytes. */
import { createHash } from "node:crypto";
import type { Contents, Piece } from "./contents.ts";

/** Keyed by the names under which the program finds them (`src/app/embedded-docs.ts`). */
export const embeddedDocsOf = (contents: Contents): Readonly<Record<string, string>> => ({
  "licences.txt": licences(contents),
  "sbom.cdx.json": billOfMaterials(contents),
});

function licences({ version, licence, packages, runtime }: Contents): string {
  const pieces = [...packages, ...(runtime === undefined ? [] : [runtime])];
  const sections = [
    section(`deckhand ${version}`, "Apache-2.0", licence),
    ...pieces.map((piece) => section(`${piece.name} ${piece.version}`, piece.licence, piece.notices)),
  ];
  const list = pieces.map((piece) => `  ${piece.name} ${piece.version}: ${piece.licence}\n`).join("");
  const head = `Deckhand ${version} is licensed under Apache-2.0. It contains:\n\n${list}
What each of them wants to be passed on follows. Where the text of Apache-2.0 is not given again, it is the first.\n`;
  return [head, ...sections].join("\n");
}

const LINE = "=".repeat(100);
const section = (title: string, licence: string, body: string) =>
  `${LINE}\n${title} (${licence})\n${LINE}\n\n${body.trim()}\n`;

function billOfMaterials({ version, packages, runtime }: Contents): string {
  const components = [
    ...packages.map((piece) => component("library", npmUrl(piece), piece)),
    ...(runtime === undefined
      ? []
      : [
          {
            ...component("platform", `pkg:generic/node@${runtime.version}`, runtime),
            components: Object.entries(runtime.parts).map(([name, of]) => ({
              type: "library",
              "bom-ref": `node/${name}`,
              name,
              version: of,
            })),
          },
        ]),
  ];
  const ref = `pkg:npm/deckhand@${version}`;
  const own = {
    type: "application",
    "bom-ref": ref,
    name: "deckhand",
    version,
    purl: ref,
    licenses: [{ license: { id: "Apache-2.0" } }],
  };
  const body = {
    version: 1,
    metadata: { component: own },
    components,
    dependencies: [{ ref, dependsOn: components.map((each) => each["bom-ref"]) }],
  };
  return billText(body);
}

/** The serial number is derived from the contents. */
function billText(body: object): string {
  const head = { bomFormat: "CycloneDX", specVersion: "1.6", serialNumber: `urn:uuid:${uuidOf(JSON.stringify(body))}` };
  return `${JSON.stringify({ ...head, ...body }, undefined, 2)}\n`;
}

/** A file that an image contains, with the Debian package it belongs to. */
export interface DebianFile {
  readonly path: string;
  readonly hash: string;
  readonly package: string;
  readonly version: string;
}

/** Adds Debian's packages to the program's SBOM, each with those of its files that the image contains. */
export function withDebianFiles(bill: string, files: readonly DebianFile[], architecture: string): string {
  const body = JSON.parse(bill) as { readonly components: readonly object[] };
  const packages = [...Map.groupBy(files, (file) => file.package)].map(([name, held]) => {
    const [{ version } = { version: "" }] = held;
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
    const fileOf = ({ path, hash }: DebianFile) => ({
      type: "file",
      "bom-ref": path,
      name: path,
      hashes: [{ alg: "SHA-256", content: hash }],
    });
    return { type: "library", "bom-ref": purl, name, version, purl, components: held.map(fileOf) };
  });
  const { serialNumber: _, ...rest } = { serialNumber: "", ...body, components: [...body.components, ...packages] };
  return billText(rest);
}

const npmUrl = ({ name, version }: Piece) => `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;

const component = (type: "library" | "platform", purl: string, { name, version, licence, hash }: Piece) => ({
  type,
  "bom-ref": purl,
  name,
  version,
  purl,
  licenses: [/ (AND|OR|WITH) /.test(licence) ? { expression: licence } : { license: { id: licence } }],
  hashes: [{ alg: hash.algorithm, content: hash.hex }],
});

/** Returns a UUID that depends only on the text (RFC 9562, version 8). */
function uuidOf(text: string): string {
  const bytes = createHash("sha256").update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

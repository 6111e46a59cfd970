/** Builds the npm package: the bundle with its licenses and SBOM. It needs Node and no other package. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inRepository } from "../repository.ts";
import { fields, parseJson, text } from "../shape.ts";

const BIN = { deckhand: "deckhand.js", "kubectl-why": "deckhand.js" };

/** Returns the path of the package. `built` contains the bundle, the licenses and the SBOM. */
export function buildNpmPackage(built: string, directory: string): string {
  const { name, version, description, license, type, engines } = fields(
    parseJson(readFileSync(inRepository("package.json"), "utf8")),
    "package.json",
  );
  const manifest = { name, version, description, license, type, engines, bin: BIN };
  const root = join(directory, ".npm");
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  try {
    writeFileSync(join(root, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
    for (const file of ["deckhand.js", "licences.txt", "sbom.cdx.json"])
      copyFileSync(join(built, file), join(root, file));
    for (const file of ["LICENSE", "README.md"]) copyFileSync(inRepository(file), join(root, file));
    execFileSync("npm", ["pack", "--silent", "--pack-destination", directory], {
      cwd: root,
      stdio: ["ignore", "ignore", "inherit"],
    });
    return join(directory, `${text(name, "name")}-${text(version, "version")}.tgz`);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

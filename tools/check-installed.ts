/**
 * Compares what npm has installed with the lock file: every installed package must be in it, with the same version and
 * integrity.
 *
 * `npm ci` would check this itself, but it also requires the optional packages of other systems, which a mirror of the
 * registry may not have. `npm install` follows the lock file without that; this check makes sure that it did.
 */
import { readFileSync } from "node:fs";
import { inRepository } from "./repository.ts";
import { fields, parseJson } from "./shape.ts";

const packagesOf = (path: string): ReadonlyMap<string, string> => {
  const lock = fields(parseJson(readFileSync(inRepository(path), "utf8")), path);
  const packages = fields(lock["packages"], `${path}: packages`);
  return new Map(
    Object.entries(packages)
      .filter(([name]) => name.startsWith("node_modules/"))
      .map(([name, entry]) => {
        const { version, integrity, link } = fields(entry, name);
        return [name, JSON.stringify([version, integrity, link])];
      }),
  );
};

const locked = packagesOf("package-lock.json");
const wrong = [...packagesOf("node_modules/.package-lock.json")].filter(([name, entry]) => locked.get(name) !== entry);
for (const [name, entry] of wrong)
  console.error(`${name}: installed ${entry}, locked ${locked.get(name) ?? "nothing"}`);
process.exitCode = wrong.length === 0 ? 0 : 1;

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { inRepository } from "./repository.ts";
import { type Fields, fields, parseJson, text } from "./shape.ts";

const ALLOWED = new Set(["Apache-2.0", "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0"]);

const read = (path: string) => readFileSync(inRepository(path), "utf8");
const readObject = (path: string) => fields(parseJson(read(path)), path);

/** The rows of the table under a heading, without the table's head. */
function tableUnder(heading: string, page: string): readonly (readonly string[])[] {
  const section = page.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("| "));
  return lines.slice(2).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

interface Installed {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

/**
 * The packages that are installed without development packages. A linked directory stands for the package it replaces.
 */
function runtimeTree(lock: Fields): readonly Installed[] {
  const packages = fields(lock["packages"], "packages");
  return Object.entries(packages)
    .filter(([path, entry]) => path.startsWith("node_modules/") && fields(entry, path)["dev"] !== true)
    .map(([path, entry]) => {
      const own = fields(entry, path);
      const target = own["link"] === true ? fields(packages[text(own["resolved"], path)], path) : own;
      return {
        name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
        version: text(target["version"], path),
        licence: text(target["license"], path),
      };
    });
}

/** With OR one license must be allowed, with AND all of them. */
const isAllowed = (licence: string): boolean =>
  licence
    .replaceAll(/[()]/g, "")
    .split(" OR ")
    .some((either) => either.split(" AND ").every((each) => ALLOWED.has(each)));

const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1);

describe("docs/dependencies.md", () => {
  const page = read("docs/dependencies.md");
  const runtime = runtimeTree(readObject("package-lock.json"));

  test("lists exactly the runtime tree, with versions and licenses", () => {
    const listed = tableUnder("Runtime", page).map(([name = "", version = "", licence = ""]) => ({
      name,
      version,
      licence,
    }));
    assert.deepEqual(listed.toSorted(byName), runtime.toSorted(byName));
  });

  test("lists the development packages of package.json with their licenses", () => {
    const wanted = Object.keys(fields(readObject("package.json")["devDependencies"], "devDependencies"));
    const licences = wanted.map((name) => ({
      name,
      licence: readObject(`node_modules/${name}/package.json`)["license"],
    }));
    const listed = tableUnder("Development", page).map(([name = "", licence = ""]) => ({ name, licence }));
    assert.deepEqual(listed.toSorted(byName), licences.toSorted(byName));
  });

  test("gives a reason for each package", () => {
    for (const row of [...tableUnder("Runtime", page), ...tableUnder("Development", page)]) {
      assert.ok((row.at(-1) ?? "").length > 10, row.join(" "));
    }
  });

  test("every license of the runtime tree is allowed", () => {
    assert.deepEqual(
      runtime.filter(({ licence }) => !isAllowed(licence)),
      [],
    );
  });
});

test("a license expression is allowed when all licenses that bind us are", () => {
  const cases = ["MIT", "GPL-3.0", "(MIT OR GPL-3.0)", "MIT AND GPL-3.0", "(Apache-2.0 AND BSD-3-Clause)"];
  assert.deepEqual(cases.map(isAllowed), [true, false, true, false, true]);
});

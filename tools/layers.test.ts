import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { importProblems, importsOf, layers } from "./layers.ts";
import { inRepository, repositoryRoot } from "./repository.ts";
import { fields, list, parseJson, text } from "./shape.ts";

const readConfig = (path: string) => fields(parseJson(readFileSync(inRepository(path), "utf8")), path);

function referencesOf(directory: string): readonly string[] {
  const config = readConfig(join(directory, "tsconfig.json"));
  return list(config["references"], directory, (each, where) =>
    join(directory, text(fields(each, where)["path"], where)),
  ).toSorted();
}

describe("layers", () => {
  for (const { directory, mayImport, node } of layers) {
    test(`${directory}/tsconfig.json refers to exactly what the table allows`, () => {
      assert.deepEqual(referencesOf(directory), mayImport.toSorted());
      const { types } = fields(readConfig(`${directory}/tsconfig.json`)["compilerOptions"], directory);
      assert.deepEqual(types, node ? ["node"] : []);
    });
  }

  test("tsc -b builds every layer", () => {
    assert.deepEqual(referencesOf("."), layers.map((layer) => layer.directory).toSorted());
  });

  test("every import in the repository is one that the table allows", () => {
    const files = globSync("{src,sim,test,tools,bench}/**/*.{ts,js}", { cwd: repositoryRoot });
    const problems = files.flatMap((file) => importProblems(file, readFileSync(inRepository(file), "utf8")));
    assert.ok(files.length > 40, `only ${files.length} files found`);
    assert.deepEqual(problems, []);
  });
});

test("no directory of src/domain has more than 35 source files, tests aside", () => {
  const files = globSync("src/domain/**/*.ts", { cwd: repositoryRoot }).filter((file) => !file.endsWith(".test.ts"));
  const counts = Map.groupBy(files, (file) => dirname(file));
  assert.ok(counts.size > 10, `only ${counts.size} directories found`);
  assert.deepEqual(
    [...counts].filter(([, names]) => names.length > 35).map(([directory]) => directory),
    [],
  );
});

describe("imports of a file", () => {
  test("finds every form of import", () => {
    const source = `import a from "./a.ts";
import type { B } from "./b.ts";
import {
  c,
  d,
} from "./c.ts";
import "./e.ts";
export { f } from "./f.ts";
const g = await import("./g.ts");
const notOne = 'from "./h.ts"';`;
    assert.deepEqual(importsOf(source), ["./a.ts", "./b.ts", "./c.ts", "./e.ts", "./f.ts", "./g.ts"]);
  });

  for (const [what, path, name, problem] of [
    ["a wrong direction", "src/domain/x.ts", "../ports/clock.ts", /src\/domain may not import src\/ports/],
    ["a sideways import", "src/wire/cri/x.ts", "../../server/x.ts", /src\/wire may not import src\/server/],
    ["a package below the edges", "src/domain/x.ts", "yaml", /imports the package yaml/],
    ["sim reaching for the adapters", "sim/x.ts", "../src/app/main.ts", /names adapters/],
  ] as const) {
    test(`reports ${what}`, () => assert.match(importProblems(path, `import "${name}";`).join(), problem));
  }

  test("lets a unit test of bench import bench, and no other test", () => {
    assert.deepEqual(importProblems("bench/x.test.ts", `import { a } from "./x.ts";`), []);
    assert.match(importProblems("test/x.test.ts", `import { a } from "../bench/x.ts";`).join(), /may not import bench/);
  });

  test("lets a unit test import what `test` may import", () => {
    assert.deepEqual(importProblems("src/domain/x.test.ts", `import { a } from "../../sim/virtual-clock.ts";`), []);
  });
});

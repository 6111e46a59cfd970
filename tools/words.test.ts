import assert from "node:assert/strict";
import { test } from "node:test";
import { placesIn } from "./words.ts";

const expressions = (text: string, path = "src/a.ts") =>
  placesIn(path, text, []).places.map(({ line, expression }) => `${line} ${expression}`);

test("counts whole words in any case, in identifiers, file names and prose", () => {
  assert.deepEqual(expressions("const podFolder = 1;\n// The pod Is Over.\nSTRANGERS_MAX"), [
    "1 folder",
    "2 is over",
    "3 strangers",
  ]);
  assert.deepEqual(expressions("", "src/watch-folder.ts"), ["0 folder"]);
  assert.deepEqual(expressions("const recommended = untold;\n// asked  for, this overall"), []);
});

test("leaves lines out that an exception names, and says which exceptions a file needs", () => {
  const exception = { path: /^src\//, line: /"folder-x"/, reason: "public" };
  const unused = { path: /^docs\//, reason: "other" };
  const { places, needed } = placesIn("src/a.ts", 'const name = "folder-x";\nconst folder = 1;', [unused, exception]);
  assert.deepEqual(places, [{ path: "src/a.ts", line: 2, expression: "folder" }]);
  assert.deepEqual([...needed], [exception]);
});

import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { cellNames, cellUse, cellUseAsMarkdown, cellUseOf } from "./cells.ts";
import { repositoryRoot } from "./repository.ts";

test("the type of a member decides whether the loop reads or writes the cell", () => {
  const source = `
export interface Parts {
  readonly clock: Clock;
  readonly pods: Latest<DesiredPods>;
  readonly status: LatestTable<string, { readonly kind: string }>;
  readonly pulls?: Pick<LatestTable<string, Pull>, "get" | "watch">;
  readonly objects: Objects;
  readonly cgroups: Cgroups;
}
`;
  const alias = "export type Objects = ReadonlyTable<string, KnownObject>;\n";
  const cells = ["status", "pods", "pulls", "objects", "cgroups", "other"];
  assert.deepEqual(cellUse([source, alias], cells), { reads: ["pods", "pulls", "objects"], writes: ["status"] });
});

test("a requester's own table counts as the cell that holds it", () => {
  const sources = ["interface A { readonly preemptions: LatestTable<string, EndRequest>; }"];
  assert.deepEqual(cellUse(sources, ["endRequests"]), { reads: [], writes: ["endRequests"] });
});

test("a cell that a directory reads and writes is listed as written", () => {
  const sources = ["interface A { readonly a: Latest<number>; }", "interface B { readonly a: LatestCell<number>; }"];
  assert.deepEqual(cellUse(sources, ["a"]), { reads: [], writes: ["a"] });
});

test("formats the list for a README", () => {
  assert.equal(
    cellUseAsMarkdown({ reads: ["a", "b"], writes: [] }),
    "- Reads the cells: `a`, `b`\n- Writes the cells: none",
  );
});

test("exactly one directory of controllers writes each cell", () => {
  const directories = globSync("src/controllers/*/", { cwd: repositoryRoot });
  const cells = cellNames();
  assert.ok(cells.length > 30 && directories.length > 20);
  for (const cell of cells) {
    const writers = directories.filter((directory) => cellUseOf(directory, cells).writes.includes(cell));
    assert.equal(writers.length, 1, `${cell}: ${writers.join(", ")}`);
  }
});

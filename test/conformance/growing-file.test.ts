import assert from "node:assert/strict";
import { appendFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { scratch } from "../../tools/scratch.ts";
import { GrowingFile } from "./growing-file.ts";

test("a growing file is read line by line, and an incomplete line once it is complete", async () => {
  using directory = scratch();
  const path = directory.path("log");
  await writeFile(path, "one\ntw");
  const file = new GrowingFile(path);
  const lines: string[] = [];
  const read = () => file.read((each) => void lines.push(each));
  await read();
  assert.deepEqual(lines, ["one"]);
  await appendFile(path, "o\nthré");
  await read();
  await appendFile(path, "e\n");
  await read();
  assert.deepEqual(lines, ["one", "two", "thrée"]);
  await file.close();
});

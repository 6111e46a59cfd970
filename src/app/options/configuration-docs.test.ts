import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { configurationDocs } from "./configuration-docs.ts";

const page = new URL("../../../docs/configuration.md", import.meta.url);

void test("docs/configuration.md is generated from the tables", () => {
  if (process.env["UPDATE_DOCS"] === "1") {
    mkdirSync(new URL(".", page), { recursive: true });
    writeFileSync(page, configurationDocs());
  }
  assert.equal(readFileSync(page, "utf8"), configurationDocs());
});

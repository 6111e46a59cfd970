import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inRepository } from "../../tools/repository.ts";
import { fields, parseJson } from "../../tools/shape.ts";
import { DECKHAND_VERSION, KUBERNETES_VERSION } from "./version.ts";

test("the versions are those of package.json and of the pinned Kubernetes module", () => {
  const manifest = fields(parseJson(readFileSync(inRepository("package.json"), "utf8")), "package.json");
  assert.equal(manifest["version"], DECKHAND_VERSION);
  const goMod = readFileSync(inRepository("test/cluster/parts/kubernetes/go.mod"), "utf8");
  assert.match(goMod, new RegExp(`^require k8s\\.io/kubernetes ${KUBERNETES_VERSION.replaceAll(".", "\\.")}$`, "m"));
});

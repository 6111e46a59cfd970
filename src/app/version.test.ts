import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inRepository } from "../../tools/repository.ts";
import { fields, parseJson } from "../../tools/shape.ts";
import { DECKHAND_VERSION, KUBERNETES_VERSION, USER_AGENT } from "./version.ts";

test("versions are those of package.json and of the pinned Kubernetes module", () => {
  const manifest = fields(parseJson(readFileSync(inRepository("package.json"), "utf8")), "package.json");
  assert.equal(manifest["version"], DECKHAND_VERSION);
  const goMod = readFileSync(inRepository("test/cluster/parts/kubernetes/go.mod"), "utf8");
  assert.match(goMod, new RegExp(`^require k8s\\.io/kubernetes ${KUBERNETES_VERSION.replaceAll(".", "\\.")}$`, "m"));
});

test("[1.14] the user agent is the Go kubelet's, with our version for the commit", () => {
  assert.match(USER_AGENT, /^kubelet\/v1\.36\.4 \(linux\/(amd64|arm64)\) kubernetes\/deckhand$/);
});

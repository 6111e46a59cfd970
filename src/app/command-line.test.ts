import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inRepository } from "../../tools/repository.ts";
import { fields, parseJson } from "../../tools/shape.ts";
import { answer } from "./command-line.ts";
import { DECKHAND_VERSION, KUBERNETES_VERSION } from "./version.ts";

test("--version names its own version and that of the kubelet it stands in for", () => {
  assert.deepEqual(answer(["--version"]), { exitCode: 0, stdout: "deckhand 0.0.0 (Kubernetes v1.36.4)\n", stderr: "" });
});

test("--help prints the usage", () => {
  const { exitCode, stdout, stderr } = answer(["--help"]);
  assert.deepEqual([exitCode, stderr], [0, ""]);
  assert.match(stdout, /^Usage: deckhand/);
});

for (const args of [[], ["run"], ["--config", "x.yaml"], ["--version", "--help"]]) {
  test(`"${args.join(" ")}" says that it is not there yet, with exit code 2`, () => {
    const { exitCode, stdout, stderr } = answer(args);
    assert.deepEqual([exitCode, stdout], [2, ""]);
    assert.match(stderr, /not there yet/);
  });
}

test("the versions are those of package.json and of the pinned Kubernetes module", () => {
  const manifest = fields(parseJson(readFileSync(inRepository("package.json"), "utf8")), "package.json");
  assert.equal(manifest["version"], DECKHAND_VERSION);
  const goMod = readFileSync(inRepository("test/cluster/parts/kubernetes/go.mod"), "utf8");
  assert.match(goMod, new RegExp(`^require k8s\\.io/kubernetes ${KUBERNETES_VERSION.replaceAll(".", "\\.")}$`, "m"));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { goldenLines } from "../../../test/support/golden.ts";
import { parseImageName, pullableName } from "./image-name.ts";

interface Recorded {
  readonly image: string;
  readonly error?: string;
  readonly repository?: string;
  readonly tag?: string;
  readonly digest?: string;
}

const named = (image: string) => {
  const parsed = parseImageName(image);
  return parsed.kind === "name" ? pullableName(image, parsed.name) : parsed.why;
};

test("[9.1] image names are accepted or refused as by the Go kubelet, with its messages", () => {
  for (const { image, error, repository, tag, digest } of goldenLines("image-names.jsonl") as readonly Recorded[]) {
    const parsed = parseImageName(image);
    if (parsed.kind === "invalid") assert.equal(parsed.why, error, image);
    else
      assert.deepEqual(
        [parsed.name.repository, parsed.name.tag ?? "", parsed.name.digest ?? ""],
        [repository, tag, digest],
        image,
      );
  }
});

test("[9.1] an image name without tag and digest gets :latest, and no registry is added", () => {
  const digest = `sha256:${"0".repeat(64)}`;
  assert.equal(named("busybox"), "busybox:latest");
  assert.equal(named("localhost:5000/a/b"), "localhost:5000/a/b:latest");
  assert.equal(named("busybox:1"), "busybox:1");
  assert.equal(named(`busybox@${digest}`), `busybox@${digest}`);
  assert.equal(named(`busybox:1@${digest}`), `busybox:1@${digest}`);
  assert.equal(
    named("Bad Name"),
    `couldn't parse image name "Bad Name": invalid reference format: repository name (library/Bad Name) must be lowercase`,
  );
});

test("a pullable name parses to the same repository, and no text makes parsing fail or hang", () => {
  const piece = fc.constantFrom("a", "B", "0", "-", "_", ".", ":", "/", "@", "[", "]", "sha256", "latest", "docker.io");
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece, { maxLength: 30 }).map((parts) => parts.join("")),
      ),
      (text) => {
        const first = parseImageName(text);
        if (first.kind === "invalid") return;
        const again = parseImageName(pullableName(text, first.name));
        assert.ok(again.kind === "name" && again.name.repository === first.name.repository, text);
        assert.ok((again.name.tag ?? again.name.digest) !== undefined, text);
      },
    ),
  );
  for (const text of ["a.", "a-", "a__", "a:", "a/", "0"].map((unit) => unit.repeat(100_000)))
    parseImageName(`${text}!`);
});

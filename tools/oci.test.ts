import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { command } from "../test/cluster/command.ts";
import {
  addToRegistryStorage,
  buildImage,
  digestOf,
  gzipLayer,
  type ImageSource,
  ociArchive,
  plainLayer,
} from "./oci.ts";

const source: ImageSource = {
  names: ["registry.k8s.io/a/b:1"],
  layers: [
    [
      { kind: "directory", path: "bin", mode: 0o755 },
      { kind: "file", path: "bin/tool", mode: 0o755, content: new Uint8Array(700).fill(65), uid: 33 },
      { kind: "hardLink", path: "bin/alias", target: "bin/tool" },
      { kind: "symlink", path: "bin/other", target: "tool" },
      { kind: "file", path: "bin/raised", mode: 0o6755, content: new Uint8Array(1), uid: 1, gid: 2 },
      { kind: "directory", path: `${"long/".repeat(20)}nested`, mode: 0o1777 },
    ],
  ],
  config: { Cmd: ["/bin/tool"] },
};

let scratch: string;
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "deckhand-oci-"));
});
after(() => rm(scratch, { recursive: true }));

test("tar lists a layer's entries with modes, owners and links", async () => {
  const layer = buildImage(source).blobs[1];
  assert.ok(layer !== undefined);
  await writeFile(join(scratch, "layer.tar"), layer.content);
  const listing = await command("tar", ["--numeric-owner", "-tvf", join(scratch, "layer.tar")], { env: { TZ: "UTC" } });
  const lines = listing
    .trim()
    .split("\n")
    .map((line) => line.replaceAll(/\s+/g, " "));
  assert.deepEqual(lines, [
    "drwxr-xr-x 0/0 0 1970-01-01 00:00 bin/",
    "-rwxr-xr-x 33/33 700 1970-01-01 00:00 bin/tool",
    "hrwxr-xr-x 0/0 0 1970-01-01 00:00 bin/alias link to bin/tool",
    "lrwxrwxrwx 0/0 0 1970-01-01 00:00 bin/other -> tool",
    "-rwsr-sr-x 1/2 1 1970-01-01 00:00 bin/raised",
    `drwxrwxrwt 0/0 0 1970-01-01 00:00 ${"long/".repeat(20)}nested/`,
  ]);
});

test("the same source gives the same digests", () => {
  const digests = () => {
    const { manifest, blobs } = buildImage(source);
    return [manifest, ...blobs].map(({ digest }) => digest);
  };
  assert.deepEqual(digests(), digests());
});

test("a pre-compressed layer keeps its digest in the manifest and its diff ID in the config", () => {
  const lower = plainLayer([{ kind: "directory", path: "x", mode: 0o755 }]);
  const packed = gzipLayer(gzipSync(lower.blob.content), lower.diffId);
  const { manifest, blobs } = buildImage({ ...source, layers: [packed] });
  const text = (content: Uint8Array | undefined) => new TextDecoder().decode(content);
  assert.match(text(manifest.content), new RegExp(`tar\\+gzip","digest":"${digestOf(packed.blob.content)}"`));
  assert.match(text(blobs[0]?.content), new RegExp(`"diff_ids":\\["${lower.diffId}"\\]`));
});

test("an archive lists its manifest under each image name", async () => {
  await writeFile(
    join(scratch, "image.tar"),
    ociArchive(buildImage({ ...source, names: ["x.test/a:1", "x.test/b:2"] })),
  );
  const index = await command("tar", ["-xOf", join(scratch, "image.tar"), "index.json"]);
  assert.match(index, /"io\.containerd\.image\.name":"x\.test\/a:1"/);
  assert.match(index, /"io\.containerd\.image\.name":"x\.test\/b:2"/);
});

test("in a registry's storage the tag links to the manifest", async () => {
  const image = buildImage(source);
  await addToRegistryStorage(image, scratch);
  const root = join(scratch, "docker", "registry", "v2");
  const link = await readFile(join(root, "repositories/a/b/_manifests/tags/1/current/link"), "utf8");
  assert.equal(link, image.manifest.digest);
  const hex = link.slice("sha256:".length);
  const data = await readFile(join(root, "blobs/sha256", hex.slice(0, 2), hex, "data"));
  assert.deepEqual(new Uint8Array(data), new Uint8Array(image.manifest.content));
});

test("rejects a name without a tag, and a path too long for the header", async () => {
  await assert.rejects(addToRegistryStorage(buildImage({ ...source, names: ["x.test/a"] }), scratch), /with a tag/);
  for (const path of ["x".repeat(101), `${"x".repeat(156)}/y`, `y/${"x".repeat(101)}`]) {
    const long: ImageSource = { ...source, layers: [[{ kind: "directory", path, mode: 0o755 }]] };
    assert.throws(() => buildImage(long), /too long/);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { KeptImage } from "./image-gc.ts";
import {
  ageErrorText,
  deletionText,
  EVERYTHING_BYTES,
  keepText,
  noSpaceText,
  sizeText,
  spaceErrorText,
  withKeptImages,
} from "./image-gc-messages.ts";

const policy = {
  highPercent: 85,
  lowPercent: 80,
  ageMsMin: 120_000,
  ageMsMax: 86_400_000,
  keep: [],
  keepUnreachable: false,
};

test("[9.10] sizes are formatted as the Go kubelet formats them", () => {
  const sizes: readonly (readonly [bigint, string])[] = [
    [0n, "0 B"],
    [1023n, "1023 B"],
    [1024n, "1.0 KiB"],
    [1024n * 1024n - 1n, "1024.0 KiB"],
    [1024n * 1024n, "1.0 MiB"],
    [1280n * 1024n * 1024n, "1.2 GiB"],
    [1408n * 1024n * 1024n, "1.4 GiB"],
    [1024n ** 4n * 5000n, "5000.0 TiB"],
  ];
  for (const [bytes, text] of sizes) assert.equal(sizeText(bytes), text);
});

test("[9.10] [9.11] errors and the event about missing space have the Go kubelet's texts", () => {
  assert.equal(
    noSpaceText({ usedPercent: 91 }, { capacityBytes: 10n * 1024n ** 3n, availableBytes: 0n }, 12n),
    "Insufficient free disk space on the node's image filesystem (91% of 10.0 GiB used). Failed to free sufficient space by deleting unused images (freed 12 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.",
  );
  assert.equal(
    spaceErrorText(EVERYTHING_BYTES, 5n, ["x", "y", "x"]),
    "wanted to free 9223372036854775807 bytes, but freed 5 bytes space with errors in image deletion: [x, y]",
  );
  assert.equal(
    ageErrorText(86_400_000, ["x"]),
    "wanted to free images older than 24h0m0s, encountered errors in image deletion: x",
  );
});

const kept = (id: string, sizeBytes: bigint, reason: KeptImage["reason"]): KeptImage => ({
  image: { id, tags: [`docker.io/library/${id}:1`], digests: [], sizeBytes, pinned: false },
  reason,
});

test("[9.10] the event of a run that can remove no image names the images, largest first, and why each stays", () => {
  const images = [
    kept("a", 1024n, { kind: "pinned" }),
    kept("b", 4096n, { kind: "used", by: "pod default/web" }),
    kept("c", 2048n, { kind: "rule", glob: "*/c:*" }),
  ];
  assert.equal(
    withKeptImages("Text.", images, policy),
    "Text. No image can be removed: docker.io/library/b:1 (4.0 KiB, used by pod default/web), docker.io/library/c:1 (2.0 KiB, kept by --deckhand-image-gc-keep=*/c:*), docker.io/library/a:1 (1.0 KiB, pinned by the container runtime).",
  );
  assert.equal(withKeptImages("Text.", [], policy), "Text. There is no image on this node.");
  const many = Array.from({ length: 99 }, (_, index) => kept(`image-${index}`, 1n, { kind: "notNeeded" }));
  const long = withKeptImages("Text.", many, policy);
  assert.deepEqual([long.length, long.endsWith("...")], [1024, true]);
});

test("[9.10] every reason has a text", () => {
  assert.deepEqual(
    (
      [
        { kind: "unreachable", registry: "r.example" },
        { kind: "failed", error: "busy" },
        { kind: "young", ageMs: 61_500 },
        { kind: "notNeeded" },
      ] as const
    ).map((reason) => keepText(reason, policy)),
    [
      "kept by --deckhand-image-gc-keep-unreachable: r.example was unreachable at the last pull",
      "failed to remove it: busy",
      "first seen 1m1s ago, imageMinimumGCAge is 2m0s",
      "unused, but its space is not needed",
    ],
  );
  const { image } = kept("a", 1n, { kind: "pinned" });
  assert.deepEqual(
    (["age", "space", "eviction"] as const).map((reason) =>
      deletionText({ image, reason, unusedMs: 90_061_000 }, policy),
    ),
    [
      "unused for 25h1m1s, imageMaximumGCAge is 24h0m0s",
      "unused for 25h1m1s, its space is needed",
      "unused for 25h1m1s, the node is short of disk space",
    ],
  );
});

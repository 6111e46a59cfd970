import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Image } from "../runtime/image.ts";
import {
  type ImageGcPolicy,
  type ImageGcProgress,
  type ImageGcState,
  type ImageGcTrigger,
  type ImageRecord,
  imageGcIsOff,
  imageGcPlan,
  NOTHING_FREED,
  seenImages,
} from "./image-gc.ts";

const MINUTE_MS = 60_000;
const NOW_MS = 10_000 * MINUTE_MS;

interface Seen {
  readonly bytes?: bigint;
  /** How long ago the image was first seen; by default a day. */
  readonly seen?: number;
  /** How long ago it was last used. */
  readonly used?: number;
  readonly by?: string;
  readonly pinned?: boolean;
  readonly tags?: readonly string[];
  readonly digests?: readonly string[];
}

interface Case extends Partial<ImageGcPolicy> {
  readonly images: Readonly<Record<string, Seen>>;
  /** Used percent of an image filesystem of 1000 bytes. Undefined: not known. */
  readonly percent?: number | undefined;
  readonly trigger?: ImageGcTrigger;
  readonly away?: readonly string[];
  readonly progress?: Partial<ImageGcProgress>;
  /** "id reason", in order. */
  readonly deleted: string;
  /** "id reason" of the images that stay. */
  readonly kept?: string;
}

const DAY = 1440;

function stateOf({ images, percent, away = [] }: Case): ImageGcState {
  const entries = Object.entries(images);
  return {
    images: entries.map(
      ([id, { bytes = 100n, pinned = false, tags = [`docker.io/library/${id}:1`], digests = [] }]): Image => ({
        id,
        tags,
        digests,
        sizeBytes: bytes,
        pinned,
      }),
    ),
    records: new Map(
      entries.map(([id, { seen = DAY, used }]): [string, ImageRecord] => [
        id,
        {
          firstSeenMs: NOW_MS - seen * MINUTE_MS,
          lastUsedMs: used === undefined ? undefined : NOW_MS - used * MINUTE_MS,
        },
      ]),
    ),
    users: new Map(entries.flatMap(([id, { by }]) => (by === undefined ? [] : [[id, by] as const]))),
    unreachableRegistries: new Set(away),
    disk:
      percent === undefined
        ? undefined
        : { capacityBytes: 1000n, availableBytes: BigInt(Math.round(1000 - percent * 10)) },
    nowMs: NOW_MS,
  };
}

function planOf(given: Case) {
  const policy: ImageGcPolicy = {
    highPercent: given.highPercent ?? 85,
    lowPercent: given.lowPercent ?? 80,
    ageMsMin: given.ageMsMin ?? 2 * MINUTE_MS,
    ageMsMax: given.ageMsMax ?? 0,
    keep: given.keep ?? [],
    keepUnreachable: given.keepUnreachable ?? false,
  };
  return imageGcPlan(stateOf(given), policy, given.trigger ?? "periodic", { ...NOTHING_FREED, ...given.progress });
}

const three = { a: { used: 30 }, b: { used: 10 }, c: { used: 20 } };
const hour = 60 * MINUTE_MS;

const CASES: Readonly<Record<string, Case>> = {
  // Space.
  "nothing below the high threshold": {
    images: three,
    percent: 84,
    deleted: "",
    kept: "a notNeeded, b notNeeded, c notNeeded",
  },
  "at the high threshold one image suffices": {
    images: three,
    percent: 85,
    deleted: "a space",
    kept: "b notNeeded, c notNeeded",
  },
  "above the high threshold the least recently used go until the low threshold": {
    images: three,
    percent: 92,
    deleted: "a space, c space",
    kept: "b notNeeded",
  },
  "part of a percent counts as a whole percent in use": {
    images: three,
    percent: 84.1,

    deleted: "a space",
    kept: "b notNeeded, c notNeeded",
  },
  "more available than capacity counts as empty": {
    images: three,
    percent: -50,
    deleted: "",
    kept: "a notNeeded, b notNeeded, c notNeeded",
  },
  "every unused image goes if even that is too little": {
    images: three,
    percent: 100,
    lowPercent: 10,
    deleted: "a space, c space, b space",
  },
  "no known disk usage removes nothing for space": {
    images: three,
    percent: undefined,
    deleted: "",
    kept: "a notNeeded, b notNeeded, c notNeeded",
  },
  "thresholds of 1 and 0 percent remove all unused images": {
    images: three,
    percent: 1,
    highPercent: 1,
    lowPercent: 0,
    deleted: "a space",
    kept: "b notNeeded, c notNeeded",
  },
  "a threshold of 0 percent always removes something if the low one is exceeded": {
    images: three,
    percent: 50,
    highPercent: 10,
    lowPercent: 5,
    deleted: "a space, c space, b space",
  },
  "a threshold of 100 percent removes nothing on a disk that is nearly full": {
    images: three,
    percent: 99,
    highPercent: 100,
    lowPercent: 80,
    deleted: "",
    kept: "a notNeeded, b notNeeded, c notNeeded",
  },
  "a threshold of 100 percent without a maximum age removes nothing on a full disk": {
    images: { a: {} },
    percent: 100,
    highPercent: 100,
    deleted: "",
    kept: "a notNeeded",
  },
  "a large image first in order is enough alone": {
    images: { a: { used: 30, bytes: 500n }, b: { used: 10 } },
    percent: 95,
    deleted: "a space",
    kept: "b notNeeded",
  },
  // Order.
  "never used goes before long unused": {
    images: { a: { used: 999 }, b: {} },
    percent: 86,
    deleted: "b space",
    kept: "a notNeeded",
  },
  "of images never used the one first seen goes first": {
    images: { a: { seen: 10 }, b: { seen: 20 } },
    percent: 86,
    deleted: "b space",
    kept: "a notNeeded",
  },
  "of images last used at the same time the one first seen goes first": {
    images: { a: { used: 5, seen: 10 }, b: { used: 5, seen: 20 } },
    percent: 86,
    deleted: "b space",
    kept: "a notNeeded",
  },
  "of images equal in all times the order is that of their IDs": {
    images: { b: {}, a: {} },
    percent: 86,
    deleted: "a space",
    kept: "b notNeeded",
  },
  // Minimum age.
  "an image younger than the minimum age stays": {
    images: { a: { seen: 1 }, b: { used: 1 } },
    percent: 99,
    deleted: "b space",
    kept: "a young",
  },
  "an image of exactly the minimum age goes": { images: { a: { seen: 2 } }, percent: 99, deleted: "a space" },
  "without a minimum age an image goes that is seen for the first time": {
    images: { a: { seen: 0 } },
    percent: 99,
    ageMsMin: 0,
    deleted: "a space",
  },
  // Use.
  "an image in use stays": { images: { a: { by: "pod x" }, b: {} }, percent: 99, deleted: "b space", kept: "a used" },
  "an image in use stays although it is old": {
    images: { a: { by: "pod x", used: 0 } },
    percent: 99,
    ageMsMax: hour,
    deleted: "",
    kept: "a used",
  },
  "a pinned image stays": { images: { a: { pinned: true }, b: {} }, percent: 99, deleted: "b space", kept: "a pinned" },
  "a pinned image stays although it is old": {
    images: { a: { pinned: true } },
    percent: 10,
    ageMsMax: hour,
    deleted: "",
    kept: "a pinned",
  },
  "a pinned image in use is reported as used": {
    images: { a: { pinned: true, by: "pod x" } },
    percent: 99,
    deleted: "",
    kept: "a used",
  },
  // Maximum age.
  "images unused for longer than the maximum age go without need for space": {
    images: { a: { used: 61 }, b: { used: 60 } },
    percent: 10,
    ageMsMax: hour,
    deleted: "a age",
    kept: "b notNeeded",
  },
  "an image never used is as old as the agent has known it": {
    images: { a: { seen: 61 }, b: { seen: 59 } },
    percent: 10,
    ageMsMax: hour,
    deleted: "a age",
    kept: "b notNeeded",
  },
  "what is removed by age counts as free space": {
    images: { a: { used: 61 }, b: { used: 30 } },
    percent: 90,
    ageMsMax: hour,
    deleted: "a age",
    kept: "b notNeeded",
  },
  "age comes before space": {
    images: { a: { used: 61, bytes: 10n }, b: { used: 30 } },
    percent: 90,
    ageMsMax: hour,
    deleted: "a age, b space",
  },
  "a maximum age of 0 is none": { images: { a: { used: 9999 } }, percent: 10, deleted: "", kept: "a notNeeded" },
  "age alone works with the threshold at 100 percent": {
    images: { a: { used: 61 } },
    percent: 99,
    highPercent: 100,
    ageMsMax: hour,
    deleted: "a age",
  },
  // Keep rules.
  "a glob keeps an image by its tag": {
    images: { a: {}, b: {} },
    percent: 99,
    keep: ["*/a:*"],
    deleted: "b space",
    kept: "a rule",
  },
  "a glob keeps an image by its name": {
    images: { a: {}, b: {} },
    percent: 99,
    keep: ["docker.io/library/a"],
    deleted: "b space",
    kept: "a rule",
  },
  "a glob keeps an image by its digest": {
    images: { a: { tags: [], digests: ["r.example/x@sha256:12"] } },
    percent: 99,
    keep: ["*@sha256:12"],
    deleted: "",
    kept: "a rule",
  },
  "a glob keeps an image by its ID": {
    images: { a: { tags: [] } },
    percent: 99,
    keep: ["a"],
    deleted: "",
    kept: "a rule",
  },
  "a glob that matches a part keeps nothing": {
    images: { a: {} },
    percent: 99,
    keep: ["library/a"],
    deleted: "a space",
  },
  "a glob keeps an image from age and from eviction": {
    images: { a: {} },
    percent: 99,
    ageMsMax: hour,
    trigger: "eviction",
    keep: ["*"],
    deleted: "",
    kept: "a rule",
  },
  "images of an unreachable registry stay if the rule is on": {
    images: { a: {}, b: { tags: ["r.example:5000/b:1"] } },
    percent: 99,
    keepUnreachable: true,
    away: ["r.example:5000"],
    deleted: "a space",
    kept: "b unreachable",
  },
  "images of an unreachable registry go if the rule is off": {
    images: { b: { tags: ["r.example:5000/b:1"] } },
    percent: 99,
    away: ["r.example:5000"],
    deleted: "b space",
  },
  // Eviction.
  "eviction removes every unused image whatever the disk usage": {
    images: { ...three, d: { by: "pod x" }, e: { pinned: true } },
    percent: 1,
    trigger: "eviction",
    deleted: "a eviction, c eviction, b eviction",
    kept: "d used, e pinned",
  },
  "eviction keeps images younger than the minimum age": {
    images: { a: { seen: 1 }, b: {} },
    percent: 99,
    trigger: "eviction",
    deleted: "b eviction",
    kept: "a young",
  },
  "eviction removes by order of use, not by age": {
    images: { a: { used: 99 }, b: { used: 100 } },
    percent: 99,
    ageMsMax: hour,
    trigger: "eviction",
    deleted: "b eviction, a eviction",
  },
  // A run under way.
  "an image that could not be removed stays and the next one goes": {
    images: three,
    percent: 86,
    progress: { failed: new Map([["a", "busy"]]) },
    deleted: "c space",
    kept: "a failed, b notNeeded",
  },
  "a run goes on to the low threshold with what it has freed": {
    images: { b: { used: 10 } },
    percent: 92,
    progress: { freedBytes: 100n },
    deleted: "b space",
  },
  "a run ends at the low threshold": {
    images: { b: { used: 10 } },
    percent: 92,
    progress: { freedBytes: 120n },
    deleted: "",
    kept: "b notNeeded",
  },
  "what a run removed by age counts as free space": {
    images: { b: { used: 10 } },
    percent: 92,
    progress: { freedByAgeBytes: 100n },
    deleted: "",
    kept: "b notNeeded",
  },
};

void suite("plan of the removal of images", () => {
  for (const [title, given] of Object.entries(CASES)) {
    const row = given.ageMsMax === undefined ? "[9.10]" : "[9.10] [9.11]";
    test(`${row} ${title}`, () => {
      const { deletions, kept } = planOf(given);
      assert.deepEqual(
        [
          deletions.map(({ image, reason }) => `${image.id} ${reason}`).join(", "),
          kept
            .map(({ image, reason }) => `${image.id} ${reason.kind}`)
            .toSorted()
            .join(", "),
        ],
        [given.deleted, given.kept ?? ""],
      );
    });
  }

  test("[9.10] the plan reports the use of the disk, what must be freed and what no image can free", () => {
    const { usedPercent, wantedBytes, shortBytes } = planOf({
      images: three,
      percent: 99,
      lowPercent: 50,
      deleted: "",
    });
    assert.deepEqual([usedPercent, wantedBytes, shortBytes], [99, 490n, 190n]);
    const after = planOf({ images: {}, percent: 99, progress: { freedBytes: 100n }, deleted: "" });
    assert.deepEqual([after.wantedBytes, after.shortBytes], [190n, 90n]);
  });

  test("[9.10] executing the first deletion and planning again removes exactly the images of the first plan", () => {
    for (const [title, given] of Object.entries(CASES)) {
      const planned = planOf(given).deletions.map(({ image, reason }) => `${image.id} ${reason}`);
      const done: string[] = [];
      let progress: ImageGcProgress = { ...NOTHING_FREED, ...given.progress };
      let images = given.images;
      for (;;) {
        const [next] = planOf({ ...given, images, progress }).deletions;
        if (next === undefined) break;
        done.push(`${next.image.id} ${next.reason}`);
        const { [next.image.id]: _, ...others } = images;
        images = others;
        const { freedByAgeBytes, freedBytes } = progress;
        const { sizeBytes } = next.image;
        progress =
          next.reason === "age"
            ? { ...progress, freedByAgeBytes: freedByAgeBytes + sizeBytes }
            : { ...progress, freedBytes: freedBytes + sizeBytes };
      }
      assert.deepEqual(done, planned, title);
    }
  });
});

test("[9.10] images are remembered from their first sight, their last use is updated, and images that are gone are forgotten", () => {
  const { images } = stateOf({ images: { a: {}, b: {} }, deleted: "" });
  const first = seenImages(new Map(), { images, users: new Map([["a", "pod x"]]), nowMs: 5 });
  assert.deepEqual(
    [...first],
    [
      ["a", { firstSeenMs: 5, lastUsedMs: 5 }],
      ["b", { firstSeenMs: 5, lastUsedMs: undefined }],
    ],
  );
  const second = seenImages(first, { images: images.slice(0, 1), users: new Map(), nowMs: 9 });
  assert.deepEqual([...second], [["a", { firstSeenMs: 5, lastUsedMs: 5 }]]);
});

test("[9.10] a high threshold of 100 percent without a maximum age turns the periodic removal off", () => {
  const policy = { highPercent: 100, lowPercent: 80, ageMsMin: 0, ageMsMax: 0, keep: [], keepUnreachable: false };
  assert.deepEqual([policy, { ...policy, highPercent: 99 }, { ...policy, ageMsMax: 1 }].map(imageGcIsOff), [
    true,
    false,
    false,
  ]);
});

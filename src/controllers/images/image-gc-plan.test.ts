import assert from "node:assert/strict";
import { test } from "node:test";
import { imageGcWorld } from "../../../test/support/image-gc-world.ts";
import { imageGcReportText, parseImageGcReport } from "../../domain/images/image-gc-report.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { reportImageGc } from "./image-gc-plan.ts";

const MIB = 1024 ** 2;
const signal = new AbortController().signal;

test("[9.10] the reported plan names exactly the images that the next run removes, and changes nothing", async () => {
  const world = imageGcWorld({ keep: ["*/kept:*"] });
  for (const id of ["a", "b", "c", "kept"]) world.load(id);
  world.addPod("web", "c:1");
  const { stop } = world.start();
  await world.clock.advance(299_999);
  world.fill(97);
  const report = await reportImageGc(world.options, signal);
  assert.deepEqual(
    [report.delete, report.keep].map((images) => images.map(({ id, reason }) => `${id} ${reason}`)),
    [
      ["a space", "b space"],
      ["c used", "kept rule"],
    ],
  );
  assert.deepEqual([report.state, report.bytesToFree, report.bytesShort], ["on", 170 * MIB, 0]);
  assert.deepEqual(world.removed, []);
  await world.clock.advance(1);
  assert.deepEqual(
    world.removed,
    report.delete.map(({ id }) => id),
  );
  await stop();
});

test("[9.10] the plan as text", async () => {
  const world = imageGcWorld({ keep: ["*/kept:*"] });
  for (const id of ["a", "kept"]) world.load(id);
  const { stop } = world.start();
  await world.clock.advance(200_000);
  world.fill(97);
  const report = await reportImageGc(world.options, signal);
  assert.equal(
    imageGcReportText(parseImageGcReport(JSON.stringify(report))),
    `Image filesystem /images: 97% of 1000.0 MiB used.
Images are removed from 85% on, down to 80%.
To free: 170.0 MiB, 70.0 MiB of which no image can free.

Would be removed, in this order (1 image, 100.0 MiB):
  docker.io/library/a:1  100.0 MiB  unused for 3m20s, its space is needed

Would stay (1 image, 100.0 MiB):
  docker.io/library/kept:1  100.0 MiB  kept by --deckhand-image-gc-keep=*/kept:*
`,
  );
  await stop();
});

test("[9.10] the plan says when nothing is removed: too early, switched off, or the usage is unknown", async () => {
  const early = imageGcWorld();
  early.cells.sourcesReady.set(false);
  assert.match(
    imageGcReportText(await reportImageGc(early.options, signal)),
    /Nothing is removed yet: not every source has delivered its pods\.\nNo image would be removed\./,
  );
  const off = imageGcWorld({ highPercent: 100 });
  off.load("a");
  off.fill(100);
  const report = await reportImageGc(off.options, signal);
  assert.deepEqual([report.state, report.delete], ["off", []]);
  assert.match(
    imageGcReportText(report),
    /100% of 1000\.0 MiB used\.\nImages are removed for eviction only: imageGCHighThresholdPercent is 100/,
  );
  const unknown = imageGcWorld();
  unknown.faults.set("statfs", new RuntimeError("ImageFsInfo", "unavailable", "gone"));
  assert.match(
    imageGcReportText(await reportImageGc(unknown.options, signal)),
    /^The usage of the image filesystem is unknown: .*gone\./,
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { Image } from "../../domain/runtime/image.ts";
import { runImageList } from "./image-list.ts";

const image = (id: string): Image => ({ id, tags: [id], digests: [], sizeBytes: 1n, pinned: false });

test("[3.10] images are listed every 30 s, and the cell changes only when the list does", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const nodeImages = new LatestCell<readonly Image[] | undefined>(undefined);
  const answers: (readonly Image[] | Error)[] = [
    new Error("away"),
    [image("a")],
    [image("a")],
    [image("a"), image("b")],
  ];
  let calls = 0;
  const listImages = async () => {
    calls += 1;
    const answer = answers.shift() ?? [];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const log = { info: () => {}, error: () => {} };
  const heartbeat = { beat: () => {} };
  const running = runImageList({ images: { listImages }, clock, log, nodeImages, heartbeat }, stop.signal);
  await clock.advance(0);
  assert.deepEqual([calls, nodeImages.value], [1, undefined]);
  await clock.advance(1000);
  assert.deepEqual([calls, nodeImages.value?.length, nodeImages.version], [2, 1, 1]);
  await clock.advance(30_000);
  assert.deepEqual([calls, nodeImages.version], [3, 1]);
  await clock.advance(30_000);
  assert.deepEqual([calls, nodeImages.value?.length, nodeImages.version], [4, 2, 2]);
  stop.abort();
  await running;
  assert.equal(clock.timersPending, 0);
});

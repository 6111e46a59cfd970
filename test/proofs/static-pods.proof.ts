/** A folder of manifests as life makes it: edited again and again, and full of things that are no manifests. */
import assert from "node:assert/strict";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { SeededRandom } from "../../sim/seeded-random.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { seed, wholeSize } from "../size.ts";
import { StaticWorld, staticManifest, staticUid } from "../support/static-world.ts";

const SIZE = wholeSize() ? { edits: 100, garbage: 500 } : { edits: 10, garbage: 50 };
/** Longer than a folder goes unread. */
const READ_AGAIN_MS = 22_000;
const TOO_BIG_BYTES = 11 * 2 ** 20;

describe("a folder of manifests", () => {
  const random = new SeededRandom(seed());
  let world: StaticWorld;

  before(async () => {
    world = await StaticWorld.start();
  });

  after(async () => {
    await world.down();
  });

  const bytes = (length: number) => Uint8Array.from({ length }, () => Math.floor(random.fraction() * 256));

  /** One of each kind of thing that is no pod, in turn. */
  const garbage: readonly ((path: string, name: string) => Promise<unknown>)[] = [
    (path, name) => {
      const text = JSON.stringify(staticManifest(name));
      return writeFile(path, text.slice(0, Math.floor(random.fraction() * (text.length - 1))));
    },
    (path) => writeFile(path, bytes(1 + Math.floor(random.fraction() * 4096))),
    // Sparse, so that many of them take no room.
    (path) => writeFile(path, "").then(() => truncate(path, TOO_BIG_BYTES)),
    (path, name) =>
      writeFile(path, JSON.stringify({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name }, spec: {} })),
    (path, name) => writeFile(join(path, "..", `.${name}.json`), JSON.stringify(staticManifest(name))),
    (path) => symlink("nowhere", path),
    (path) => symlink(".", path),
    (path, name) => mkdir(path).then(() => writeFile(join(path, "pod.json"), JSON.stringify(staticManifest(name)))),
    (path, name) => writeFile(path, JSON.stringify({ ...staticManifest(name), spec: { containers: [] } })),
    (path) => writeFile(path, "a: &a [*a, *a]\n---\nb: {{{"),
    (path) => writeFile(path, ""),
  ];

  test("[6.8] [4.5] [27.1.38] each edit gives another UID, and the old pod has ended before the new one begins", async () => {
    const uids: string[] = [];
    let slowestMs = 0;
    for (let edition = 1; edition <= SIZE.edits; edition += 1) {
      const last = uids.at(-1);
      if (last !== undefined) world.oracle.mayEnd(last);
      const writtenMs = performance.now();
      await world.put("edited.yaml", staticManifest("edited", edition));
      uids.push(staticUid(await world.ready("edited", edition)));
      if (edition > 1) slowestMs = Math.max(slowestMs, performance.now() - writtenMs);
    }
    assert.equal(new Set(uids).size, SIZE.edits);
    const runs = uids.map((uid) => world.oracle.containersOf(uid));
    assert.ok(
      runs.every(({ length }) => length === 1),
      "each edition ran once",
    );
    const spans = runs
      .flat()
      .flatMap(({ firstSeenMs, lastAliveMs }, index) =>
        index === SIZE.edits - 1 ? [firstSeenMs] : [firstSeenMs, lastAliveMs],
      );
    assert.deepEqual(
      spans,
      spans.toSorted((a, b) => a - b),
      "one after the other",
    );
    assert.deepEqual(world.oracle.verdict(), { doubled: [], lost: [], restarted: [] });
    figure("edits", SIZE.edits, "edits");
    figure("slowest from edit to Ready mirror", Math.round(slowestMs), "ms");
  });

  test("[4.4] of many edits at once the last one stays", async () => {
    const before = staticUid(await world.ready("edited"));
    world.oracle.mayEnd(before);
    for (let edition = 1_000; edition < 1_000 + SIZE.edits; edition += 1) {
      await world.put("edited.yaml", staticManifest("edited", edition));
      await pause(random.fraction() * 50);
    }
    const last = staticUid(await world.ready("edited", 1_000 + SIZE.edits - 1));
    await waitUntil("nothing else to run", 60_000, () => Promise.resolve([...world.oracle.living].join() === last));
    assert.deepEqual(world.oracle.verdict().doubled, []);
    assert.equal(world.oracle.containersOf(last).length, 1);
  });

  test("[4.4] garbage beside it changes nothing, and good files among it run", async () => {
    const before = staticUid(await world.ready("edited"));
    for (let index = 0; index < SIZE.garbage; index += 1) {
      const name = `garbage-${index}`;
      await garbage[index % garbage.length]?.(join(world.folder, `${name}.yaml`), name);
    }
    await world.put("zz-good.yaml", staticManifest("good"));
    const good = staticUid(await world.ready("good"));
    await pause(READ_AGAIN_MS);
    assert.deepEqual([...world.oracle.living].toSorted(), [before, good].toSorted());
    assert.equal(world.oracle.containersOf(before).length, 1);
    assert.deepEqual((await world.mirrors()).map(({ metadata }) => metadata?.name ?? "").toSorted(), [
      "edited-n1",
      "good-n1",
    ]);
    world.oracle.mayEnd(before);
    await world.put("edited.yaml", staticManifest("edited", 5_000));
    await world.ready("edited", 5_000);
    figure("files that are no manifests", SIZE.garbage, "files");
  });
});

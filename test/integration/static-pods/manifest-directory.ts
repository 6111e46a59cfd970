/**
 * A manifest directory that is edited repeatedly and holds files that are no manifests. The integration suite runs it
 * small, the proof `static-pods` at whole size.
 */
import assert from "node:assert/strict";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { SeededRandom } from "../../../sim/seeded-random.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import { figure } from "../../figures.ts";
import { seed } from "../../size.ts";
import { type StaticWorld, staticManifest, staticUid } from "../../support/static-world.ts";

export interface DirectorySize {
  readonly edits: number;
  readonly garbage: number;
}

/** Longer than the interval at which the agent reads the directory again without an event. */
const READ_AGAIN_MS = 22_000;
const TOO_BIG_BYTES = 11 * 2 ** 20;

export function manifestDirectory(worldOf: () => StaticWorld, size: DirectorySize): void {
  const random = new SeededRandom(seed());
  const bytes = (length: number) => Uint8Array.from({ length }, () => Math.floor(random.fraction() * 256));

  /** Files that are no pod manifest, one kind after the other. */
  const garbage: readonly ((path: string, name: string) => Promise<unknown>)[] = [
    (path, name) => {
      const text = JSON.stringify(staticManifest(name));
      return writeFile(path, text.slice(0, Math.floor(random.fraction() * (text.length - 1))));
    },
    (path) => writeFile(path, bytes(1 + Math.floor(random.fraction() * 4096))),
    // Sparse, so that many of them use no disk.
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

  test("[6.8] [4.5] [27.1.38] each edit gives another UID, and the old pod terminates before the new one starts", async () => {
    const uids: string[] = [];
    let slowestMs = 0;
    for (let edition = 1; edition <= size.edits; edition += 1) {
      const last = uids.at(-1);
      if (last !== undefined) worldOf().oracle.mayEnd(last);
      const writtenMs = performance.now();
      await worldOf().put("edited.yaml", staticManifest("edited", edition));
      uids.push(staticUid(await worldOf().ready("edited", edition)));
      if (edition > 1) slowestMs = Math.max(slowestMs, performance.now() - writtenMs);
    }
    assert.equal(new Set(uids).size, size.edits);
    const runs = uids.map((uid) => worldOf().oracle.containersOf(uid));
    assert.ok(
      runs.every(({ length }) => length === 1),
      "each edition ran once",
    );
    const spans = runs
      .flat()
      .flatMap(({ firstSeenMs, lastAliveMs }, index) =>
        index === size.edits - 1 ? [firstSeenMs] : [firstSeenMs, lastAliveMs],
      );
    assert.deepEqual(
      spans,
      spans.toSorted((a, b) => a - b),
      "one after the other",
    );
    assert.deepEqual(worldOf().oracle.verdict(), { doubled: [], lost: [], restarted: [] });
    figure("edits", size.edits, "edits");
    figure("slowest from edit to Ready mirror", Math.round(slowestMs), "ms");
  });

  test("[4.4] the last of many edits in quick succession runs", async () => {
    const before = staticUid(await worldOf().ready("edited"));
    worldOf().oracle.mayEnd(before);
    for (let edition = 1_000; edition < 1_000 + size.edits; edition += 1) {
      await worldOf().put("edited.yaml", staticManifest("edited", edition));
      await pause(random.fraction() * 50);
    }
    const last = staticUid(await worldOf().ready("edited", 1_000 + size.edits - 1));
    await waitUntil("nothing else to run", 60_000, () => Promise.resolve([...worldOf().oracle.living].join() === last));
    assert.deepEqual(worldOf().oracle.verdict().doubled, []);
    assert.equal(worldOf().oracle.containersOf(last).length, 1);
  });

  test("[4.4] files that are no manifests change nothing, and a valid manifest among them runs", async () => {
    const before = staticUid(await worldOf().ready("edited"));
    for (let index = 0; index < size.garbage; index += 1) {
      const name = `garbage-${index}`;
      await garbage[index % garbage.length]?.(join(worldOf().directory, `${name}.yaml`), name);
    }
    await worldOf().put("zz-good.yaml", staticManifest("good"));
    const good = staticUid(await worldOf().ready("good"));
    await pause(READ_AGAIN_MS);
    assert.deepEqual([...worldOf().oracle.living].toSorted(), [before, good].toSorted());
    assert.equal(worldOf().oracle.containersOf(before).length, 1);
    assert.deepEqual((await worldOf().mirrors()).map(({ metadata }) => metadata?.name ?? "").toSorted(), [
      "edited-n1",
      "good-n1",
    ]);
    worldOf().oracle.mayEnd(before);
    await worldOf().put("edited.yaml", staticManifest("edited", 5_000));
    const edited = staticUid(await worldOf().ready("edited", 5_000));
    figure("files that are no manifests", size.garbage, "files");
    for (const uid of [edited, good]) worldOf().oracle.mayEnd(uid);
    await worldOf().clear();
  });
}

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { FilesystemUsage } from "../../domain/runtime/image.ts";
import type { ContainerStats } from "../../domain/runtime/stats.ts";
import { WritableLayerStats } from "./writable-layer-stats.ts";

const forever = new AbortController().signal;
const layer = (usedBytes: bigint) => ({ wallNs: 1n, mountpoint: "/images", usedBytes });
const stats = (id: string, usedBytes: bigint): ContainerStats => ({
  id,
  metadata: { name: id, attempt: 0 },
  labels: {},
  annotations: {},
  writableLayer: layer(usedBytes),
});

function world(containers: readonly FilesystemUsage[] = []) {
  const clock = new ManualClock();
  const asked: { readonly end: (answer: readonly ContainerStats[] | Error) => void }[] = [];
  const runtime = {
    listContainerStats: () =>
      new Promise<readonly ContainerStats[]>((resolve, reject) => {
        asked.push({ end: (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)) });
      }),
  };
  const images = { imageFilesystems: async () => ({ images: [layer(500n)], containers }) };
  return { clock, asked, layers: new WritableLayerStats({ clock, log: keptLog(), runtime, images }, forever) };
}

void suite("[21.4] writable layers as the runtime reports them", () => {
  test("a new container is waited for; a known one is answered from the cache while the cache is refreshed", async () => {
    const { clock, asked, layers } = world();
    const first = layers.ask(["a"], forever);
    asked[0]?.end([stats("a", 1n)]);
    assert.deepEqual((await first).layers.get("a"), layer(1n));
    assert.deepEqual([(await layers.ask(["a"], forever)).images?.usedBytes, asked.length], [500n, 1]);
    assert.deepEqual(layers.mountpoints, ["/images"]);
    await clock.advance(10_000);
    assert.equal((await layers.ask(["a"], forever)).layers.get("a")?.usedBytes, 1n, "nobody waits");
    assert.equal(asked.length, 2);
    asked[1]?.end([stats("a", 2n)]);
    await clock.advance(0);
    assert.equal((await layers.ask(["a"], forever)).layers.get("a")?.usedBytes, 2n);
  });

  test("[17.5] a layer that the runtime has not measured, and a response that is 20 s old, are requested again and waited for", async () => {
    const { clock, asked, layers } = world();
    const first = layers.ask(["a"], forever);
    asked[0]?.end([{ ...stats("a", 0n), writableLayer: { ...layer(0n), wallNs: 0n } }]);
    await first;
    const second = layers.ask(["a"], forever);
    asked[1]?.end([stats("a", 1n)]);
    assert.equal((await second).layers.get("a")?.usedBytes, 1n);
    await clock.advance(20_000);
    const third = layers.ask(["a"], forever);
    asked[2]?.end([stats("a", 2n)]);
    assert.equal((await third).layers.get("a")?.usedBytes, 2n);
  });

  test("a runtime that does not respond delays a request by two seconds with one call, and is queried again after an error", async () => {
    const { clock, asked, layers } = world();
    const slow = layers.ask(["a"], forever);
    await clock.advance(2_000);
    assert.equal((await slow).layers.size, 0);
    const again = layers.ask(["a"], forever);
    assert.equal(asked.length, 1);
    asked[0]?.end(new Error("busy"));
    assert.equal((await again).layers.size, 0);
    const third = layers.ask(["a"], forever);
    asked[1]?.end([stats("a", 3n)]);
    assert.equal((await third).layers.get("a")?.usedBytes, 3n);
  });

  test("[9.13] the file system of writable layers, if it is not that of the images", async () => {
    for (const [mountpoint, expected] of [
      ["/images", undefined],
      ["/layers", "/layers"],
    ] as const) {
      const { asked, layers } = world([{ ...layer(7n), mountpoint }]);
      const reported = layers.ask(["a"], forever);
      asked[0]?.end([stats("a", 1n)]);
      assert.equal((await reported).containers?.mountpoint, expected);
      assert.deepEqual(layers.mountpoints, ["/images", ...(expected === undefined ? [] : [expected])]);
    }
  });
});

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { imageGcWorld } from "../../../test/support/image-gc-world.ts";
import { instance } from "../../../test/support/pods.ts";
import { emptyOutcome } from "../../domain/pod/pod-outcome.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";

const FIVE_MINUTES_MS = 300_000;
const busy = new RuntimeError("RemoveImage", "unknown", "busy");
const down = new RuntimeError("ListImages", "unavailable", "down");

void suite("removal of unused images", () => {
  test("[9.10] [22.3] every five minutes removes the least recently used images from the high threshold down to the low one", async () => {
    const world = imageGcWorld();
    for (const id of ["a", "b", "c"]) world.load(id);
    world.containers.set("1", { ...instance("app", "exited"), id: "1", imageId: "a" });
    const { stop } = world.start();
    await world.clock.advance(0);
    world.containers.clear();
    world.fill(92);
    await world.clock.advance(FIVE_MINUTES_MS - 1);
    assert.deepEqual(world.removed, []);
    await world.clock.advance(1);
    assert.deepEqual(world.removed, ["b", "c"]);
    assert.deepEqual(world.events, []);
    await world.clock.advance(FIVE_MINUTES_MS);
    assert.deepEqual(world.removed, ["b", "c"]);
    assert.deepEqual(world.metrics.images.collected.samples(), [{ labels: [["reason", "space"]], value: 2 }]);
    assert.equal(world.tracer.finished.length, 3);
    const { name, scope } = world.tracer.finished[0] ?? assert.fail("no span");
    assert.deepEqual([scope, name], ["k8s.io/kubernetes/pkg/kubelet/images", "Images/GarbageCollect"]);
    await stop();
  });

  test("[9.10] an image used by a container that exited, by a mount, or by a pod that has no container yet stays", async () => {
    const world = imageGcWorld({ ageMsMin: 0 });
    for (const id of ["dead", "mounted", "awaited", "finished", "unused"]) world.load(id);
    world.fill(99);
    const mounts = [{ containerPath: "/v", hostPath: "", image: { image: "mounted" } }];
    world.containers.set("1", { ...instance("app", "exited"), id: "1", imageId: "dead", mounts });
    world.addPod("p", "awaited:1");
    world.addPod("q", "finished:1");
    const lifecycle = { kind: "finished", why: { kind: "completed" } } as const;
    world.cells.podOutcomes.set("q", { ...emptyOutcome("q"), lifecycle });
    const { stop } = world.start();
    await world.clock.advance(0);
    assert.deepEqual(world.removed.toSorted(), ["finished", "unused"]);
    await stop();
  });

  test("[9.10] an image that a new pod needs while others are removed stays", async () => {
    const world = imageGcWorld({ ageMsMin: 0, lowPercent: 10 });
    for (const id of ["a", "b"]) world.load(id);
    world.fill(99);
    world.hooks.beforeRemoval = () => world.addPod("p", "b:1");
    const { stop } = world.start();
    await world.clock.advance(0);
    assert.deepEqual(world.removed, ["a"]);
    await stop();
  });

  test("[4.9] nothing is removed before every source has delivered its pods, also not for eviction", async () => {
    const world = imageGcWorld({ ageMsMin: 0 });
    world.load("a");
    world.fill(99);
    world.cells.sourcesReady.set(false);
    world.cells.reclaimRequests.set({ containers: 0, images: 1 });
    const { stop } = world.start();
    await world.clock.advance(2 * FIVE_MINUTES_MS);
    assert.deepEqual(world.removed, []);
    world.cells.sourcesReady.set(true);
    await world.clock.advance(0);
    assert.deepEqual(world.removed, ["a"]);
    await stop();
  });

  test("[9.11] an image unused for longer than the maximum age is removed, counted from the start of this process", async () => {
    const world = imageGcWorld({ highPercent: 100, ageMsMax: 600_000 });
    for (const id of ["a", "b"]) world.load(id);
    const { stop } = world.start();
    await world.clock.advance(FIVE_MINUTES_MS);
    world.load("late");
    await world.clock.advance(FIVE_MINUTES_MS);
    assert.deepEqual(world.removed, []);
    await world.clock.advance(FIVE_MINUTES_MS);
    assert.deepEqual(world.removed, ["a", "b"]);
    assert.deepEqual(world.metrics.images.collected.samples(), [{ labels: [["reason", "age"]], value: 2 }]);
    await stop();
  });

  test("[9.10] without enough unused images the event says so; if nothing can be removed, it names the images and why they stay", async () => {
    const world = imageGcWorld({ ageMsMin: 0, keep: ["*/kept:*"] });
    world.load("kept", 64);
    world.load("used", 128);
    world.load("loose", 10);
    world.fill(90);
    world.addPod("web", "used:1");
    const { stop } = world.start();
    await world.clock.advance(0);
    const text = (percent: number, freed: number) =>
      `Warning FreeDiskSpaceFailed: Insufficient free disk space on the node's image filesystem (${percent}% of 1000.0 MiB used). Failed to free sufficient space by deleting unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;
    assert.deepEqual(world.events, [text(90, 10 * 1024 ** 2)]);
    await world.clock.advance(FIVE_MINUTES_MS);
    const reasons =
      " No image can be removed: docker.io/library/used:1 (128.0 MiB, used by pod default/web), docker.io/library/kept:1 (64.0 MiB, kept by --deckhand-image-gc-keep=*/kept:*).";
    const second = text(89, 0) + reasons;
    assert.deepEqual(world.events.slice(1), [second, second.replace("FreeDiskSpaceFailed", "ImageGCFailed")]);
    await stop();
  });

  test("[9.10] an image filesystem without capacity is reported; the second failure in a row is an event", async () => {
    const world = imageGcWorld();
    world.disk.capacityBytes = 0n;
    const invalid = "Warning InvalidDiskCapacity: invalid capacity 0 on image filesystem";
    const { stop } = world.start();
    await world.clock.advance(0);
    assert.deepEqual(world.events, [invalid]);
    await world.clock.advance(FIVE_MINUTES_MS);
    const failed = "Warning ImageGCFailed: invalid capacity 0 on image filesystem";
    assert.deepEqual(world.events, [invalid, invalid, failed]);
    world.disk.capacityBytes = 1000n;
    await world.clock.advance(FIVE_MINUTES_MS);
    world.disk.capacityBytes = 0n;
    await world.clock.advance(FIVE_MINUTES_MS);
    assert.deepEqual(world.events, [invalid, invalid, failed, invalid]);
    await stop();
  });

  test("[9.10] an image that cannot be removed stays, the next one goes, and the error is reported", async () => {
    const world = imageGcWorld({ ageMsMin: 0 });
    for (const id of ["a", "b"]) world.load(id);
    world.fill(88);
    world.faults.set("removeImage a", busy);
    const { stop } = world.start();
    await world.clock.advance(0);
    assert.deepEqual(world.removed, ["b"]);
    world.fill(88);
    await world.clock.advance(FIVE_MINUTES_MS);
    const wanted = 1000 * 1024 ** 2 * 0.08;
    assert.deepEqual(world.events, [
      `Warning ImageGCFailed: wanted to free ${wanted} bytes, but freed 0 bytes space with errors in image deletion: rpc error: code = Unknown desc = busy`,
    ]);
    await stop();
  });

  test("[9.10] [9.11] images too old are removed although the usage of the image filesystem cannot be read", async () => {
    const world = imageGcWorld({ ageMsMax: 240_000 });
    world.load("a");
    world.faults.set("imageFilesystems", down);
    const { stop } = world.start();
    await world.clock.advance(FIVE_MINUTES_MS);
    assert.deepEqual(world.removed, ["a"]);
    assert.deepEqual(world.events, ["Warning ImageGCFailed: rpc error: code = Unavailable desc = down"]);
    await stop();
  });

  test("[9.10] nothing is removed while the containers cannot be listed", async () => {
    const world = imageGcWorld({ ageMsMin: 0 });
    world.load("a");
    world.fill(99);
    world.faults.set("listContainers", down);
    const { stop } = world.start();
    await world.clock.advance(FIVE_MINUTES_MS);
    assert.deepEqual(world.removed, []);
    await stop();
  });

  test("[9.10] with a high threshold of 100 percent images are removed for eviction only", async () => {
    const world = imageGcWorld({ highPercent: 100 });
    world.load("a");
    world.fill(100);
    const { stop } = world.start();
    await world.clock.advance(FIVE_MINUTES_MS);
    assert.deepEqual([world.removed, world.tracer.finished.length], [[], 0]);
    world.faults.set("listImages", down);
    await world.clock.advance(2 * FIVE_MINUTES_MS);
    world.faults.clear();
    assert.deepEqual(world.events, []);
    world.cells.reclaimRequests.set({ containers: 0, images: 1 });
    await world.clock.advance(0);
    assert.deepEqual(world.removed, ["a"]);
    await stop();
  });

  test("[9.10] a request of the eviction controller is answered once, with what was freed and what failed", async () => {
    const world = imageGcWorld({ keep: ["*/kept:*"] });
    for (const id of ["a", "b", "kept"]) world.load(id);
    const { stop } = world.start();
    await world.clock.advance(FIVE_MINUTES_MS - 1);
    world.load("young");
    world.faults.set("removeImage b", busy);
    world.cells.reclaimRequests.set({ containers: 7, images: 3 });
    await world.clock.advance(0);
    assert.deepEqual(world.removed, ["a"]);
    assert.deepEqual(world.cells.imagesReclaimed.value, {
      number: 3,
      freedBytes: 100n * 1024n ** 2n,
      error:
        "wanted to free 9223372036854775807 bytes, but freed 104857600 bytes space with errors in image deletion: rpc error: code = Unknown desc = busy",
    });
    const { version } = world.cells.imagesReclaimed;
    world.cells.reclaimRequests.set({ containers: 8, images: 3 });
    await world.clock.advance(0);
    assert.equal(world.cells.imagesReclaimed.version, version);
    world.faults.set("listImages", down);
    world.cells.reclaimRequests.set({ containers: 8, images: 4 });
    await world.clock.advance(0);
    const error = "rpc error: code = Unavailable desc = down";
    assert.deepEqual(world.cells.imagesReclaimed.value, { number: 4, freedBytes: 0n, error });
    await stop();
  });
});

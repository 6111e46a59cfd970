/** Mounts contract: file systems on block devices. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Given, rejects, signal } from "./mounts-world.ts";

export function disks(given: Given): void {
  test("[13.33] an empty disk is detected as empty, formatted, checked and mounted, and keeps its files", async () => {
    const { mounts, files, at, world, write, read, mountsAt } = given();
    const device = await world.device();
    assert.deepEqual(await mounts.formatOf(device, signal), { type: undefined, partitioned: false });
    await mounts.format(device, "ext4", signal);
    assert.deepEqual(await mounts.formatOf(device, signal), { type: "ext4", partitioned: false });
    assert.equal(await mounts.check(device, signal), "clean");
    await files.makeDirectory(at("v"), 0o755);
    for (let turn = 0; turn < 2; turn += 1) await mounts.mountDevice(device, at("v"), "ext4", ["defaults"], signal);
    await write("v/file", "x");
    const [mount, ...more] = await mountsAt("v");
    assert.deepEqual([mount?.type, mount?.source, more.length], ["ext4", device, 0]);
    await mounts.unmount(at("v"), { lazy: false }, signal);
    assert.deepEqual(await files.list(at("v")), []);
    await mounts.mountDevice(device, at("v"), "ext4", ["ro"], signal);
    assert.equal(await read("v/file"), "x");
    await assert.rejects(write("v/other", "y"), { code: "readOnly" });
  });

  test("[13.33] rejects a missing device, an unknown file system type, and mounting an unformatted disk", async () => {
    const { mounts, files, at, world } = given();
    await rejects("notFound", mounts.formatOf(at("no-device"), signal));
    const device = await world.device();
    await rejects("other", mounts.format(device, "no-such-type", signal));
    await rejects("other", mounts.format(device, "../sh", signal));
    await files.makeDirectory(at("v"), 0o755);
    await rejects("other", mounts.mountDevice(device, at("v"), "ext4", [], signal));
    await rejects("notFound", mounts.mountDevice(at("no-device"), at("v"), "ext4", [], signal));
  });

  test("mountDevice over another mount fails as busy", async () => {
    const { mounts, files, at, world } = given();
    const device = await world.device();
    await mounts.format(device, "ext4", signal);
    await files.makeDirectory(at("v"), 0o755);
    await world.plant(at("v"));
    await rejects("busy", mounts.mountDevice(device, at("v"), "ext4", [], signal));
  });
}

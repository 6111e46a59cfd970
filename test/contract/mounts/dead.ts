/** Mounts contract: a file system whose server does not answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Given, rejects, signal } from "./mounts-world.ts";

export function deadMounts(given: Given): void {
  test("a call on a dead mount fails as unresponsive without blocking others, and a lazy unmount removes the mount", async () => {
    const { mounts, files, at, world, write } = given();
    await write("live/file", "x");
    await files.makeDirectory(at("dead"), 0o755);
    await world.plantDead(at("dead"));
    const hung = [mounts.kindOf(at("dead/file"), signal), mounts.applyFsGroup(at("dead"), CHANGE, signal)];
    const ends = Promise.all(hung.map((call) => rejects("unresponsive", call)));
    assert.equal(await mounts.kindOf(at("live/file"), signal), "file");
    assert.ok((await mounts.table()).some(({ path }) => path === at("dead")));
    await rejects("busy", mounts.removeTree(at("dead"), signal));
    await ends;
    await mounts.unmount(at("dead"), { lazy: true }, signal);
    assert.equal(await mounts.kindOf(at("dead"), signal), "directory");
    await mounts.removeTree(at("dead"), signal);
    assert.deepEqual(await files.list(at("")), ["live"]);
  });
}

const CHANGE = { group: 1, readOnly: false, onlyIfRootDiffers: false, onProgress: () => {} };

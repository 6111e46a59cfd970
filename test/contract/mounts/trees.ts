/** Mounts contract: the files and directories of a volume. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FsGroupChange } from "../../../src/ports/mounts.ts";
import { type Given, rejects, signal, type Tools } from "./mounts-world.ts";

export function trees(given: Given): void {
  looking(given);
  applyingFsGroup(given);
  removing(given);
}

function looking(given: Given): void {
  test("[13.6] kindOf reports what is at a path, and follows links", async () => {
    const { mounts, files, at, write } = given();
    await write("directory/file", "x");
    await files.link("directory/file", at("link"));
    await files.link("none", at("dangling"));
    const names = ["directory", "directory/file", "link", "dangling", "none", "directory/file/below"];
    const kinds = await Promise.all(names.map((name) => mounts.kindOf(at(name), signal)));
    assert.deepEqual(kinds, ["directory", "file", "file", "absent", "absent", "absent"]);
  });

  test("[13.13] groupOf reports the group of a path, and follows links", async () => {
    const { mounts, files, at, write } = given();
    await write("directory/file", "x");
    await files.setOwner(at("directory/file"), 0, 4321);
    await files.link("directory/file", at("link"));
    const groups = await Promise.all(["directory/file", "link"].map((name) => mounts.groupOf(at(name), signal)));
    assert.deepEqual(groups, [4321, 4321]);
    await rejects("notFound", mounts.groupOf(at("none"), signal));
  });

  test("[21.9] measure counts each file of a volume once without inner mounts, and reports the file system's capacity", async () => {
    const { mounts, files, at, write } = given();
    await write("v/small", "x");
    await write("v/deep/large", "x".repeat(100_000));
    await files.link("small", at("v/link"));
    const first = await mounts.measure(at("v"), "walk", signal);
    assert.equal(first.usage?.inodes, 5);
    assert.ok(first.usage.bytes >= 100_000 && first.usage.bytes < 200_000, `${first.usage.bytes} bytes`);
    const { filesystem } = first;
    assert.ok(
      filesystem.capacityBytes > 0 &&
        filesystem.availableBytes <= filesystem.capacityBytes &&
        filesystem.freeBytes <= filesystem.capacityBytes,
    );
    assert.ok(filesystem.inodesFree <= filesystem.inodes);
    await mounts.makeDirectory(at("v/inside"), 0o755, signal);
    await mounts.mountMemory(at("v/inside"), { sizeBytes: 1_048_576n, noSwap: false }, signal);
    await write("v/inside/other", "x".repeat(50_000));
    assert.deepEqual((await mounts.measure(at("v"), "walk", signal)).usage, first.usage);
    const memory = await mounts.measure(at("v/inside"), "filesystem", signal);
    assert.equal(memory.usage, undefined);
    await rejects("notFound", mounts.measure(at("none"), "walk", signal));
    await rejects("notFound", mounts.measure(at("none"), "filesystem", signal));
    await mounts.unmount(at("v/inside"), { lazy: false }, signal);
  });

  test("[13.6] makeDirectory creates parents, makeFile does not; both ignore the umask and keep existing paths", async () => {
    const { mounts, files, at, write, read } = given();
    await mounts.makeDirectory(at("a/b"), 0o777, signal);
    await mounts.makeDirectory(at("a/b"), 0o700, signal);
    await mounts.makeFile(at("a/file"), 0o666, signal);
    await write("a/kept", "x");
    await mounts.makeFile(at("a/kept"), 0o666, signal);
    const modes = await Promise.all(["a", "a/b", "a/file"].map(async (name) => (await files.facts(at(name)))?.mode));
    assert.deepEqual([modes, await read("a/kept")], [[0o777, 0o777, 0o666], "x"]);
    await rejects("notFound", mounts.makeFile(at("none/file"), 0o666, signal));
    await rejects("exists", mounts.makeFile(at("a/b"), 0o666, signal));
    await rejects("exists", mounts.makeDirectory(at("a/file"), 0o700, signal));
  });
}

const CHANGE: FsGroupChange = { group: 4321, readOnly: false, onlyIfRootDiffers: false, onProgress: () => {} };

const shape = async ({ files, at }: Tools, name: string) => {
  const facts = await files.facts(at(name));
  return `${name} ${facts?.gid} ${facts?.mode.toString(8)}`;
};

function applyingFsGroup(given: Given): void {
  test("[13.13] applyFsGroup gives a volume and its content to a group, but not the targets of its links", async () => {
    const tools = given();
    const { mounts, files, at, write } = tools;
    await write("outside/file", "x");
    await write("volume/directory/file", "x");
    await files.setMode(at("volume/directory/file"), 0o600);
    await files.setMode(at("volume/directory"), 0o700);
    await files.link(at("outside"), at("volume/link"));
    await files.link(at("outside/file"), at("volume/directory/link"));
    const outcome = await mounts.applyFsGroup(at("volume"), CHANGE, signal);
    assert.deepEqual(outcome, { files: 5, refused: 0, firstRefusal: undefined });
    const names = ["volume", "volume/directory", "volume/directory/file", "outside", "outside/file"];
    assert.deepEqual(await Promise.all(names.map((name) => shape(tools, name))), [
      "volume 4321 2775",
      "volume/directory 4321 2770",
      "volume/directory/file 4321 660",
      "outside 0 755",
      "outside/file 0 644",
    ]);
    assert.deepEqual(
      [(await files.facts(at("volume/link")))?.gid, (await files.facts(at("volume/directory/link")))?.gid],
      [4321, 4321],
    );
  });

  test("[13.13] applyFsGroup adds no write permission to a read-only volume", async () => {
    const tools = given();
    const { mounts, files, at, write } = tools;
    await write("volume/file", "x");
    await files.setMode(at("volume/file"), 0o600);
    await mounts.applyFsGroup(at("volume"), { ...CHANGE, readOnly: true }, signal);
    assert.deepEqual(await Promise.all([shape(tools, "volume"), shape(tools, "volume/file")]), [
      "volume 4321 2755",
      "volume/file 4321 640",
    ]);
  });

  test("[13.13] applyFsGroup with onlyIfRootDiffers skips a volume whose root already has the group", async () => {
    const tools = given();
    const { mounts, at, write } = tools;
    await write("volume/file", "x");
    const lazy = { ...CHANGE, onlyIfRootDiffers: true };
    assert.equal((await mounts.applyFsGroup(at("volume"), lazy, signal)).files, 2);
    await write("volume/new", "x");
    assert.equal((await mounts.applyFsGroup(at("volume"), lazy, signal)).files, 0);
    assert.equal(await shape(tools, "volume/new"), "volume/new 4321 644");
    assert.equal((await mounts.applyFsGroup(at("volume"), CHANGE, signal)).files, 3);
    assert.equal(await shape(tools, "volume/new"), "volume/new 4321 664");
  });

  test("applyFsGroup leaves mounts inside the volume unchanged", async () => {
    const tools = given();
    const { mounts, files, at, write } = tools;
    await write("host/file", "x");
    await files.makeDirectory(at("volume/memory"), 0o755);
    await mounts.bind(at("host"), at("volume/bound"), [], signal);
    await mounts.bind(at("host/file"), at("volume/bound-file"), [], signal);
    await mounts.mountMemory(at("volume/memory"), { sizeBytes: undefined, noSwap: false }, signal);
    await write("volume/memory/file", "x");
    assert.equal((await mounts.applyFsGroup(at("volume"), CHANGE, signal)).files, 1);
    const names = ["host", "host/file", "volume/memory", "volume/memory/file"];
    assert.deepEqual(await Promise.all(names.map((name) => shape(tools, name))), [
      "host 0 755",
      "host/file 0 644",
      "volume/memory 0 1777",
      "volume/memory/file 0 644",
    ]);
  });

  test("[13.13] applyFsGroup reports changes that the file system refuses, and does not fail", async () => {
    const tools = given();
    const { mounts, at, write } = tools;
    await write("source/file", "x");
    await mounts.bind(at("source"), at("volume"), ["ro"], signal);
    const { files, refused, firstRefusal } = await mounts.applyFsGroup(at("volume"), CHANGE, signal);
    assert.deepEqual([files, refused], [2, 2]);
    assert.match(String(firstRefusal), /read-only/);
    assert.equal(await shape(tools, "source/file"), "source/file 0 644");
  });

  test("applyFsGroup accepts a file as volume, and returns notFound for a missing one", async () => {
    const tools = given();
    const { mounts, at, write } = tools;
    await write("volume", "x");
    await mounts.applyFsGroup(at("volume"), { ...CHANGE, onlyIfRootDiffers: true }, signal);
    assert.equal(await shape(tools, "volume"), "volume 4321 664");
    await rejects("notFound", mounts.applyFsGroup(at("none"), CHANGE, signal));
  });
}

function removing(given: Given): void {
  test("removeTree removes the whole tree, keeps the targets of its links, and succeeds for a missing path", async () => {
    const { mounts, files, at, write, list } = given();
    await write("kept/file", "x");
    await write("tree/a/b/file", "x");
    await files.link(at("kept"), at("tree/a/link"));
    await files.link(at("kept/file"), at("tree/link"));
    for (let turn = 0; turn < 2; turn += 1) await mounts.removeTree(at("tree"), signal);
    assert.deepEqual([await list(""), await list("kept")], ["kept", "file"]);
    await files.link(at("kept"), at("link"));
    await mounts.removeTree(at("link"), signal);
    await mounts.removeTree(at("none/at/all"), signal);
    assert.deepEqual([await list(""), await list("kept")], ["kept", "file"]);
  });

  test("removeTree of a tree with a mount in it fails as busy, whatever is mounted, and removes nothing", async () => {
    const { mounts, files, at, world, write, read } = given();
    await write("data/precious", "x");
    await write("tree/a", "x");
    await files.makeDirectory(at("tree/z/memory"), 0o755);
    await mounts.bind(at("data"), at("tree/z/bound"), [], signal);
    await rejects("busy", mounts.removeTree(at("tree"), signal));
    await rejects("busy", mounts.removeTree(at("tree/z/bound"), signal));
    await mounts.unmount(at("tree/z/bound"), { lazy: false }, signal);
    await world.plant(at("tree/z/memory"));
    await rejects("busy", mounts.removeTree(at("tree"), signal));
    assert.deepEqual([await read("tree/a"), await read("data/precious")], ["x", "x"]);
    await mounts.unmount(at("tree/z/memory"), { lazy: false }, signal);
    await mounts.removeTree(at("tree"), signal);
    assert.deepEqual([await files.list(at("")), await read("data/precious")], [["data"], "x"]);
  });
}

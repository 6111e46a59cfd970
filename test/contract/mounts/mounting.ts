/** Mounts contract: mount, bind, share and unmount. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Given, rejects, signal } from "./mounts-world.ts";

const MEMORY = { sizeBytes: 1n << 20n, noSwap: false };

export function mounting(given: Given): void {
  test("[13.5] a tmpfs hides the directory's content, is in the table with its size, and loses its content on unmount", async () => {
    const { mounts, files, at, write, list, mountsAt } = given();
    await write("v/below", "x");
    await mounts.mountMemory(at("v"), MEMORY, signal);
    await mounts.mountMemory(at("v"), MEMORY, signal);
    assert.equal(await list("v"), "");
    assert.equal((await files.facts(at("v")))?.mode, 0o1777);
    await write("v/above", "y");
    const [mount, ...more] = await mountsAt("v");
    assert.deepEqual([mount?.type, mount?.source, mount?.root, more.length], ["tmpfs", "tmpfs", "/", 0]);
    assert.ok(mount?.superOptions.includes("size=1024k"), String(mount?.superOptions));
    await mounts.unmount(at("v"), { lazy: false }, signal);
    assert.deepEqual([await list("v"), await mountsAt("v")], ["below", []]);
    await mounts.mountMemory(at("v"), { sizeBytes: undefined, noSwap: false }, signal);
    assert.equal(await list("v"), "");
  });

  test("a tmpfs rejects a file beyond its size with noSpace", async () => {
    const { mounts, files, at } = given();
    await files.makeDirectory(at("v"), 0o755);
    await mounts.mountMemory(at("v"), MEMORY, signal);
    const content = new Uint8Array(3 << 19);
    await assert.rejects(files.writeNew(at("v/large"), content, { mode: 0o600 }), { code: "noSpace" });
    await files.writeNew(at("v/small"), content.subarray(0, 1 << 18), { mode: 0o600 });
    assert.equal((await files.facts(at("v/small")))?.sizeBytes, 1 << 18);
  });

  test("mountMemory rejects a missing directory, and fails as busy over another mount", async () => {
    const { mounts, files, at, mountsAt } = given();
    await rejects("notFound", mounts.mountMemory(at("none/v"), MEMORY, signal));
    await rejects("notFound", mounts.mountMemory(at("none"), MEMORY, signal));
    await files.makeDirectory(at("v"), 0o755);
    await files.makeDirectory(at("source"), 0o755);
    await mounts.bind(at("source"), at("v"), [], signal);
    await rejects("busy", mounts.mountMemory(at("v"), MEMORY, signal));
    assert.equal((await mountsAt("v")).length, 1);
  });

  test("bind creates the target directory, and both paths show the same files", async () => {
    const { mounts, files, at, write, read, mountsAt } = given();
    await write("source/a", "first");
    await mounts.bind(at("source"), at("deep/er/target"), [], signal);
    await mounts.bind(at("source"), at("deep/er/target"), [], signal);
    await write("deep/er/target/b", "second");
    assert.deepEqual([await read("deep/er/target/a"), await read("source/b")], ["first", "second"]);
    const [mount, ...more] = await mountsAt("deep/er/target");
    assert.ok(mount?.root.endsWith("/source"), String(mount?.root));
    assert.equal(more.length, 0);
    assert.equal((await files.facts(at("deep/er")))?.mode, 0o750);
    await mounts.unmount(at("deep/er/target"), { lazy: false }, signal);
    assert.deepEqual([await files.list(at("deep/er/target")), await read("source/b")], [[], "second"]);
  });

  test("bind mounts a file on a file", async () => {
    const { mounts, files, at, write, read } = given();
    await write("source", "content");
    await mounts.bind(at("source"), at("target"), [], signal);
    assert.equal(await read("target"), "content");
    await mounts.unmount(at("target"), { lazy: false }, signal);
    assert.equal((await files.facts(at("target")))?.sizeBytes, 0);
  });

  test("a read-only bind rejects writes, but its source accepts them", async () => {
    const { mounts, files, at, write, mountsAt } = given();
    await files.makeDirectory(at("source"), 0o755);
    await mounts.bind(at("source"), at("target"), ["ro"], signal);
    await assert.rejects(write("target/a", "x"), { code: "readOnly" });
    await rejects("readOnly", mounts.makeDirectory(at("target/f/g"), 0o700, signal));
    await rejects("readOnly", mounts.makeFile(at("target/f"), 0o700, signal));
    await mounts.makeDirectory(at("target"), 0o700, signal);
    await write("source/a", "x");
    const [mount] = await mountsAt("target");
    assert.ok(mount?.options.includes("ro"), String(mount?.options));
  });

  test("bind excludes mounts below its source", async () => {
    const { mounts, files, at, write, list } = given();
    await files.makeDirectory(at("source/inner"), 0o755);
    await mounts.mountMemory(at("source/inner"), MEMORY, signal);
    await write("source/inner/a", "x");
    await mounts.bind(at("source"), at("target"), [], signal);
    assert.deepEqual([await list("target"), await list("target/inner")], ["inner", ""]);
  });

  test("bind rejects a missing source, and fails as busy over another mount", async () => {
    const { mounts, files, at } = given();
    await rejects("notFound", mounts.bind(at("none"), at("target"), [], signal));
    await files.makeDirectory(at("one"), 0o755);
    await files.makeDirectory(at("two"), 0o755);
    await mounts.bind(at("one"), at("target"), [], signal);
    await rejects("busy", mounts.bind(at("two"), at("target"), [], signal));
  });

  test("unmount removes all mounts stacked at a path, and succeeds when there are none", async () => {
    const { mounts, files, at, world, write, list, mountsAt } = given();
    await write("v/below", "x");
    for (let turn = 0; turn < 3; turn += 1) await world.plant(at("v"));
    assert.equal((await mountsAt("v")).length, 3);
    await mounts.unmount(at("v"), { lazy: false }, signal);
    assert.deepEqual([await mountsAt("v"), await list("v")], [[], "below"]);
    await mounts.unmount(at("v"), { lazy: false }, signal);
    await mounts.unmount(at("v"), { lazy: true }, signal);
    await mounts.unmount(at("none/at/all"), { lazy: false }, signal);
    await mounts.unmount(at("v/below/no-directory"), { lazy: false }, signal);
    assert.equal((await files.facts(at("v/below")))?.kind, "file");
  });

  test("unmount of a mount that contains another fails as busy, and a lazy unmount removes both", async () => {
    const { mounts, files, at, world, mountsAt } = given();
    await files.makeDirectory(at("v"), 0o755);
    await world.plant(at("v"));
    await files.makeDirectory(at("v/inner"), 0o755);
    await world.plant(at("v/inner"));
    await rejects("busy", mounts.unmount(at("v"), { lazy: false }, signal));
    assert.equal((await mountsAt("v")).length, 1);
    await mounts.unmount(at("v"), { lazy: true }, signal);
    assert.deepEqual([await mountsAt("v"), await mountsAt("v/inner")], [[], []]);
  });

  test("[13.15] share makes a directory of a private mount a shared mount once, and mounts inside it are shared too", async () => {
    const { mounts, files, at, write, read, mountsAt } = given();
    await write("root/a", "x");
    await files.makeDirectory(at("root/v"), 0o755);
    await mounts.share(at("root"), signal);
    await mounts.share(at("root"), signal);
    await mounts.share(at("root/v"), signal);
    const [root, ...more] = await mountsAt("root");
    assert.match(root?.propagation.join() ?? "", /^shared:\d+$/);
    assert.deepEqual([more.length, await mountsAt("root/v"), await read("root/a")], [0, [], "x"]);
    await mounts.mountMemory(at("root/v"), MEMORY, signal);
    const [inner] = await mountsAt("root/v");
    assert.match(inner?.propagation.join() ?? "", /^shared:\d+$/);
  });

  test("a call with an aborted signal rejects with its reason and changes nothing", async () => {
    const { mounts, files, at, mountsAt } = given();
    await files.makeDirectory(at("v"), 0o755);
    const gone = AbortSignal.abort(new Error("no longer"));
    await assert.rejects(mounts.mountMemory(at("v"), MEMORY, gone), /^Error: no longer$/);
    await assert.rejects(mounts.kindOf(at("v"), gone), /^Error: no longer$/);
    await assert.rejects(mounts.removeTree(at("v"), gone), /^Error: no longer$/);
    assert.deepEqual([await mountsAt("v"), await files.list(at(""))], [[], ["v"]]);
  });
}

/** Mounts contract: subPaths bound for one container while another container may change the volume's names at will. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SUBPATH_LINKS_MAX } from "../../../src/wire/limits.ts";
import { type Given, rejects, signal, type Tools } from "./mounts-world.ts";

const bindTo = ({ mounts, at }: Tools, subPath: string, options: { readonly target?: string } = {}) =>
  mounts.bindSubPath({ volume: at("volume"), subPath, target: at(options.target ?? "subpaths/v/c/0") }, signal);

export function subPaths(given: Given): void {
  found(given);
  linked(given);
  refused(given);
  filesBelow(given);
}

function filesBelow(given: Given): void {
  const readAt = async ({ mounts, at }: Tools, path: string, bytesMax = 10) =>
    Buffer.from(await mounts.readBeneath(at("volume"), path, bytesMax, signal)).toString();

  test("[24.10] readBeneath reads a file of a volume up to the size limit", async () => {
    const tools = given();
    await tools.write("volume/a/file", "0123456789");
    await tools.write("volume/empty", "");
    assert.deepEqual(
      [await readAt(tools, "a/file"), await readAt(tools, "./a//file"), await readAt(tools, "empty")],
      ["0123456789", "0123456789", ""],
    );
    await rejects("other", readAt(tools, "a/file", 9));
  });

  test("[24.10] readBeneath reads nothing outside the volume, follows no link, reads only regular files", async () => {
    const tools = given();
    const { files, at, write } = tools;
    await write("outside/file", "stolen");
    await write("volume/a/file", "x");
    await files.link(at("outside"), at("volume/away"));
    await files.link(at("outside/file"), at("volume/stolen"));
    await files.link("a/file", at("volume/inside"));
    for (const path of ["../outside/file", "a/../a/file", "/a/file", "", ".", "away/file", "stolen", "inside"]) {
      await rejects("unsafePath", readAt(tools, path));
    }
    await rejects("notFound", readAt(tools, "none"));
    await rejects("notFound", readAt(tools, "a/none/file"));
    await rejects("other", readAt(tools, "a"));
  });
}

function found(given: Given): void {
  test("[13.14] bindSubPath binds a directory and a file of a volume to targets that it creates", async () => {
    const tools = given();
    const { files, at, write, read } = tools;
    await write("volume/a/b/file", "x");
    await bindTo(tools, "a/b");
    await bindTo(tools, "a//./b/file", { target: "subpaths/v/c/1" });
    assert.deepEqual([await read("subpaths/v/c/0/file"), await read("subpaths/v/c/1")], ["x", "x"]);
    assert.equal((await files.facts(at("subpaths/v/c")))?.mode, 0o750);
    await write("subpaths/v/c/0/new", "y");
    assert.equal(await read("volume/a/b/new"), "y");
  });

  test("[13.14] bindSubPath creates missing directories with the volume's mode, whatever the umask", async () => {
    const tools = given();
    const { files, at } = tools;
    await files.makeDirectory(at("volume"), 0o700);
    await files.setMode(at("volume"), 0o2777);
    await bindTo(tools, "not/there/yet");
    const modes = await Promise.all(
      ["volume/not", "volume/not/there", "volume/not/there/yet", "subpaths/v/c/0"].map(
        async (name) => (await files.facts(at(name)))?.mode,
      ),
    );
    assert.deepEqual(modes, [0o2777, 0o2777, 0o2777, 0o2777]);
  });

  test("[13.14] bindSubPath creates nothing in a read-only volume", async () => {
    const tools = given();
    const { write, list, read, mounts, at } = tools;
    await write("source/a/file", "x");
    await mounts.bind(at("source"), at("volume"), ["ro"], signal);
    await rejects("readOnly", bindTo(tools, "a/none"));
    assert.equal(await list("volume/a"), "file");
    await bindTo(tools, "a");
    assert.equal(await read("subpaths/v/c/0/file"), "x");
  });

  test("bindSubPath keeps a bind of the same subPath and replaces one of another", async () => {
    const tools = given();
    const { write, list, mountsAt, files, at } = tools;
    await write("volume/one/a", "x");
    await write("volume/two/b", "y");
    await write("volume/file", "z");
    for (let turn = 0; turn < 2; turn += 1) await bindTo(tools, "one");
    assert.deepEqual([(await mountsAt("subpaths/v/c/0")).length, await list("subpaths/v/c/0")], [1, "a"]);
    await bindTo(tools, "two");
    assert.deepEqual([(await mountsAt("subpaths/v/c/0")).length, await list("subpaths/v/c/0")], [1, "b"]);
    await bindTo(tools, "file");
    assert.deepEqual(
      [(await mountsAt("subpaths/v/c/0")).length, (await files.facts(at("subpaths/v/c/0")))?.sizeBytes],
      [1, 1],
    );
  });

  test("bindSubPath binds a file again after it was replaced", async () => {
    const tools = given();
    const { files, at, write, read } = tools;
    await write("volume/file", "old");
    await bindTo(tools, "file");
    await write("volume/next", "new");
    await files.rename(at("volume/next"), at("volume/file"));
    assert.equal(await read("subpaths/v/c/0"), "old");
    await bindTo(tools, "file");
    assert.equal(await read("subpaths/v/c/0"), "new");
  });
}

function linked(given: Given): void {
  test("[13.14] follows links that stay in the volume: a ConfigMap's file, a relative link with .., and an absolute host path", async () => {
    const tools = given();
    const { files, at, write, read } = tools;
    await write("volume/..2026/key", "x");
    await files.link("..2026", at("volume/..data"));
    await files.link("..data/key", at("volume/key"));
    await files.makeDirectory(at("volume/a/b"), 0o755);
    await files.link("../../key", at("volume/a/b/back"));
    await files.link(at("volume/..data/key"), at("volume/absolute"));
    for (const [index, subPath] of ["key", "a/b/back", "absolute", "..data/key"].entries()) {
      await bindTo(tools, subPath, { target: `subpaths/v/c/${index}` });
      assert.equal(await read(`subpaths/v/c/${index}`), "x", subPath);
    }
  });
}

function refused(given: Given): void {
  test("[13.14] follows SUBPATH_LINKS_MAX links, and returns unsafePath for one more", async () => {
    const tools = given();
    const { files, at, write, read } = tools;
    await write("volume/0", "x");
    for (let link = 1; link <= SUBPATH_LINKS_MAX + 1; link += 1) {
      await files.link(`${link - 1}`, at(`volume/${link}`));
    }
    await bindTo(tools, `${SUBPATH_LINKS_MAX}`);
    assert.equal(await read("subpaths/v/c/0"), "x");
    await rejects("unsafePath", bindTo(tools, `${SUBPATH_LINKS_MAX + 1}`, { target: "subpaths/v/c/1" }));
  });

  test("[13.14] rejects a subPath that leaves the volume, by itself or by a link, and binds and creates nothing", async () => {
    const tools = given();
    const { files, at, write, list, mountsAt } = tools;
    await write("outside/secret", "x");
    await write("volume-beside/secret", "x");
    await files.makeDirectory(at("volume/directory"), 0o755);
    await files.link("../outside", at("volume/up"));
    await files.link("../../outside/secret", at("volume/directory/up"));
    await files.link(at("outside"), at("volume/absolute"));
    await files.link(at("volume-beside"), at("volume/beside"));
    await files.link("/", at("volume/root"));
    await files.link("loop", at("volume/loop"));
    const paths = [
      "up",
      "up/secret",
      "directory/up",
      "absolute",
      "beside",
      "root",
      "loop",
      "..",
      "directory/../..",
      "/etc",
    ];
    for (const subPath of paths) await rejects("unsafePath", bindTo(tools, subPath));
    await rejects("unsafePath", bindTo(tools, "up/made"));
    assert.deepEqual(await mountsAt("subpaths/v/c/0"), []);
    assert.deepEqual(
      [await list("outside"), await list("volume")],
      ["secret", "absolute beside directory loop root up"],
    );
  });

  test("bindSubPath returns notFound for a dangling link, a path through a file, and a missing volume", async () => {
    const tools = given();
    const { files, at, write, mounts, list } = tools;
    await write("volume/file", "x");
    await files.link("none", at("volume/dangling"));
    await rejects("notFound", bindTo(tools, "dangling"));
    await rejects("notFound", bindTo(tools, "dangling/below"));
    await rejects("notFound", bindTo(tools, "file/below"));
    const bind = { volume: at("gone"), subPath: "a", target: at("target") };
    await rejects("notFound", mounts.bindSubPath(bind, signal));
    assert.equal(await list("volume"), "dangling file");
  });
}

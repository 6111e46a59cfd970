/** Contract suite of the HostFiles port. Each test has its own empty directory. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import {
  type DirectoryHint,
  HostFileError,
  type HostFileErrorCode,
  type HostFiles,
} from "../../src/ports/host-files.ts";

export interface FilesWorld {
  readonly files: HostFiles;
  /** Empty, and used by nothing else. */
  readonly directory: string;
  /** An owner and a group that can be set on files. */
  readonly uid: number;
  readonly gid: number;
  end(): Promise<void>;
}

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (content: Uint8Array) => new TextDecoder().decode(content);

const rejects = (code: HostFileErrorCode, run: Promise<unknown>) =>
  assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof HostFileError, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  });

export function hostFilesContract(name: string, begin: () => Promise<FilesWorld>): void {
  describe(`${name} keeps the contract of the HostFiles port`, () => {
    let begun: FilesWorld | undefined;
    beforeEach(async () => {
      begun = await begin();
    });
    afterEach(() => begun?.end());
    const world = () => {
      if (begun === undefined) throw new Error("the world has not begun");
      const { files, directory, uid, gid } = begun;
      return { files, uid, gid, at: (name: string) => `${directory}/${name}` };
    };
    writing(world);
    appending(world);
    reading(world);
    owning(world);
    naming(world);
    renaming(world);
    removing(world);
    watching(world);
  });
}

type World = () => Pick<FilesWorld, "files" | "uid" | "gid"> & { readonly at: (name: string) => string };

function writing(world: World): void {
  test("writeAtomically sets content and mode, whatever the umask, and leaves no other file", async () => {
    const { files, at } = world();
    await files.writeAtomically(at("a"), bytes("first"), 0o666);
    await files.writeAtomically(at("a"), bytes("second"), 0o606);
    assert.equal(text(await files.read(at("a"), 100)), "second");
    const facts = await files.facts(at("a"));
    assert.deepEqual([facts?.kind, facts?.sizeBytes, facts?.mode], ["file", 6, 0o606]);
    assert.deepEqual(await files.list(at(".")), ["a"]);
  });

  test("concurrent writes to one path end with the content of the last call", async () => {
    const { files, at } = world();
    await Promise.all(["1", "2", "3"].map((each) => files.writeAtomically(at("a"), bytes(each), 0o600)));
    assert.equal(text(await files.read(at("a"), 100)), "3");
  });

  test("writeAtomically replaces a link and keeps its target", async () => {
    const { files, at } = world();
    await files.writeAtomically(at("real"), bytes("real"), 0o600);
    await files.link(at("real"), at("link"));
    await files.writeAtomically(at("link"), bytes("mine"), 0o600);
    assert.deepEqual([text(await files.read(at("real"), 9)), (await files.facts(at("link")))?.kind], ["real", "file"]);
  });

  test("writeAtomically rejects a missing parent directory, and a directory at its path", async () => {
    const { files, at } = world();
    await rejects("notFound", files.writeAtomically(at("none/a"), bytes("x"), 0o600));
    await files.makeDirectory(at("directory"), 0o700);
    await rejects("exists", files.writeAtomically(at("directory"), bytes("x"), 0o600));
    assert.deepEqual(await files.list(at(".")), ["directory"]);
  });

  test("overwrite replaces content and mode, and creates a missing file", async () => {
    const { files, at } = world();
    await files.overwrite(at("a"), bytes("first and long"), 0o600);
    assert.equal(text(await files.read(at("a"), 100)), "first and long");
    await files.overwrite(at("a"), bytes("second"), 0o646);
    assert.equal(text(await files.read(at("a"), 100)), "second");
    const facts = await files.facts(at("a"));
    assert.deepEqual([facts?.kind, facts?.sizeBytes, facts?.mode], ["file", 6, 0o646]);
    await files.overwrite(at("a"), bytes(""), 0o600);
    assert.equal((await files.facts(at("a")))?.sizeBytes, 0);
    assert.deepEqual(await files.list(at(".")), ["a"]);
  });

  test("overwrite rejects a link, a directory and a missing parent directory", async () => {
    const { files, at } = world();
    await files.writeAtomically(at("real"), bytes("real"), 0o600);
    await files.link(at("real"), at("link"));
    await rejects("notPermitted", files.overwrite(at("link"), bytes("mine"), 0o600));
    await files.makeDirectory(at("directory"), 0o700);
    await rejects("exists", files.overwrite(at("directory"), bytes("mine"), 0o600));
    await rejects("notFound", files.overwrite(at("none/a"), bytes("mine"), 0o600));
    assert.equal(text(await files.read(at("real"), 9)), "real");
  });

  test("makeFile creates an empty file, and rejects an existing one", async () => {
    const { files, at } = world();
    await files.makeFile(at("log"), 0o666);
    const facts = await files.facts(at("log"));
    assert.deepEqual([facts?.kind, facts?.sizeBytes, facts?.mode], ["file", 0, 0o666]);
    await rejects("exists", files.makeFile(at("log"), 0o666));
  });
}

function appending(world: World): void {
  test("appendAt writes at its offset and truncates everything beyond", async () => {
    const { files, at } = world();
    await files.writeAtomically(at("a"), bytes("head"), 0o600);
    await files.appendAt(at("a"), 4, bytes(" and a long tail"));
    await files.appendAt(at("a"), 8, bytes("!"));
    assert.equal(text(await files.read(at("a"), 100)), "head and!");
    await files.appendAt(at("a"), 4, bytes(""));
    assert.equal(text(await files.read(at("a"), 100)), "head");
  });

  test("an unsynced append is visible at once, and a synced one continues after it", async () => {
    const { files, at } = world();
    await files.writeAtomically(at("a"), bytes("head"), 0o600);
    await files.appendAt(at("a"), 4, bytes(" then"), "unsynced");
    assert.equal(text(await files.read(at("a"), 100)), "head then");
    await files.appendAt(at("a"), 9, bytes(" more"));
    await files.appendAt(at("a"), 4, bytes("!"), "unsynced");
    assert.equal(text(await files.read(at("a"), 100)), "head!");
    await rejects("other", files.appendAt(at("a"), 9, bytes("x"), "unsynced"));
  });

  test("appendAt creates no file, leaves no hole and follows no link", async () => {
    const { files, at } = world();
    await rejects("notFound", files.appendAt(at("a"), 0, bytes("x")));
    await files.writeAtomically(at("a"), bytes("abc"), 0o600);
    await rejects("other", files.appendAt(at("a"), 4, bytes("x")));
    await files.link(at("a"), at("link"));
    await rejects("notPermitted", files.appendAt(at("link"), 3, bytes("x")));
    assert.equal(text(await files.read(at("a"), 100)), "abc");
  });
}

function reading(world: World): void {
  test("reads return everything up to their limit, and read rejects a larger file", async () => {
    const { files, at } = world();
    const content = new Uint8Array(10_000).map((_, index) => index % 251);
    await files.writeAtomically(at("a"), content, 0o600);
    assert.deepEqual(Uint8Array.from(await files.read(at("a"), 10_000)), content);
    await rejects("tooLarge", files.read(at("a"), 9999));
    assert.deepEqual(Uint8Array.from(await files.readHead(at("a"), 3)), content.slice(0, 3));
    assert.deepEqual(Uint8Array.from(await files.readHead(at("a"), 20_000)), content);
    assert.deepEqual(Uint8Array.from(await files.readTail(at("a"), 3)), content.slice(-3));
    assert.deepEqual(Uint8Array.from(await files.readTail(at("a"), 20_000)), content);
    await files.writeAtomically(at("empty"), bytes(""), 0o600);
    assert.deepEqual(
      [(await files.read(at("empty"), 0)).length, (await files.readTail(at("empty"), 9)).length],
      [0, 0],
    );
  });

  test("reads only regular files, and follows no link at the end of the path", async () => {
    const { files, at } = world();
    await files.writeAtomically(at("a"), bytes("x"), 0o600);
    await files.link("a", at("link"));
    await rejects("notPermitted", files.read(at("link"), 9));
    await rejects("notPermitted", files.readHead(at("link"), 9));
    await rejects("notPermitted", files.readTail(at("link"), 9));
    await files.makeDirectory(at("directory"), 0o700);
    await rejects("other", files.read(at("directory"), 9));
    await rejects("notFound", files.read(at("none"), 9));
  });

  test("follows a link to a directory within a path", async () => {
    const { files, at } = world();
    await files.makeDirectory(at("directory"), 0o700);
    await files.link("directory", at("link"));
    await files.writeAtomically(at("link/a"), bytes("x"), 0o600);
    assert.equal(text(await files.read(at("directory/a"), 9)), "x");
  });

  test("a write advances modifiedWallNs, and a missing file has no facts", async () => {
    const { files, at } = world();
    await files.writeAtomically(at("a"), bytes("x"), 0o600);
    const before = await files.facts(at("a"));
    for (let turn = 0; turn < 20; turn += 1) await files.writeAtomically(at("a"), bytes("y"), 0o600);
    const after = await files.facts(at("a"));
    assert.ok(before !== undefined && after !== undefined && after.modifiedWallNs > before.modifiedWallNs);
    assert.deepEqual([await files.facts(at("none")), await files.facts(at("a/below"))], [undefined, undefined]);
  });
}

function owning(world: World): void {
  test("writeNew sets content, mode, owner and group, and rejects an existing path", async () => {
    const { files, at, uid, gid } = world();
    await files.writeNew(at("a"), bytes("first"), { mode: 0o666 });
    await files.writeNew(at("b"), bytes("second"), { mode: 0o2670, uid, gid });
    await rejects("exists", files.writeNew(at("a"), bytes("other"), { mode: 0o600 }));
    await files.link("nowhere", at("link"));
    await rejects("exists", files.writeNew(at("link"), bytes("other"), { mode: 0o600 }));
    await rejects("notFound", files.writeNew(at("none/a"), bytes("x"), { mode: 0o600 }));
    assert.deepEqual([text(await files.read(at("a"), 9)), text(await files.read(at("b"), 9))], ["first", "second"]);
    const [a, b] = [await files.facts(at("a")), await files.facts(at("b"))];
    assert.deepEqual([a?.mode, b?.mode, b?.uid, b?.gid], [0o666, 0o2670, uid, gid]);
    assert.deepEqual(await files.list(at(".")), ["a", "b", "link"]);
  });

  test("setOwner and setMode change the path itself, never the target of a link", async () => {
    const { files, at, uid, gid } = world();
    await files.makeDirectory(at("directory"), 0o700);
    await files.setOwner(at("directory"), uid, gid);
    await files.setMode(at("directory"), 0o2777);
    const directory = await files.facts(at("directory"));
    assert.deepEqual([directory?.mode, directory?.uid, directory?.gid], [0o2777, uid, gid]);

    await files.makeFile(at("file"), 0o640);
    await files.link("file", at("link"));
    const before = await files.facts(at("file"));
    await files.setOwner(at("link"), uid, gid);
    await rejects("notPermitted", files.setMode(at("link"), 0o777));
    const [link, after] = [await files.facts(at("link")), await files.facts(at("file"))];
    assert.deepEqual([link?.uid, link?.gid, after], [uid, gid, before]);
    await rejects("notFound", files.setOwner(at("none"), uid, gid));
    await rejects("notFound", files.setMode(at("none"), 0o600));
  });

  test("new entries of a setgid directory have the directory's group", async () => {
    const { files, at, uid, gid } = world();
    await files.makeDirectory(at("directory"), 0o700);
    await files.setOwner(at("directory"), uid, gid);
    await files.setMode(at("directory"), 0o2770);
    await files.writeNew(at("directory/a"), bytes("x"), { mode: 0o600 });
    await files.makeDirectory(at("directory/b"), 0o700);
    await files.link("a", at("directory/c"));
    const gids = await Promise.all(
      ["a", "b", "c"].map(async (name) => (await files.facts(at(`directory/${name}`)))?.gid),
    );
    assert.deepEqual(gids, [gid, gid, gid]);
  });
}

function renaming(world: World): void {
  test("rename replaces a file, a link or an empty directory, and nothing else", async () => {
    const { files, at } = world();
    await files.writeNew(at("new"), bytes("new"), { mode: 0o600 });
    await files.writeNew(at("old"), bytes("old"), { mode: 0o600 });
    await files.rename(at("new"), at("old"));
    assert.equal(text(await files.read(at("old"), 9)), "new");
    await files.link("one", at("link"));
    await files.link("two", at("next"));
    await files.rename(at("next"), at("link"));
    assert.equal(await files.readLink(at("link")), "two");
    await files.makeDirectory(at("directory/below"), 0o700);
    await files.makeDirectory(at("empty"), 0o755);
    await files.rename(at("directory"), at("empty"));
    assert.deepEqual([await files.list(at(".")), await files.list(at("empty"))], [["empty", "link", "old"], ["below"]]);
    await files.makeDirectory(at("other"), 0o755);
    await rejects("notEmpty", files.rename(at("other"), at("empty")));
    await rejects("exists", files.rename(at("old"), at("empty")));
    await rejects("notFound", files.rename(at("none"), at("old")));
    await rejects("notFound", files.rename(at("old"), at("none/a")));
    assert.deepEqual(await files.list(at(".")), ["empty", "link", "old", "other"]);
  });

  test("a renamed directory and a new one at its old path hold separate files", async () => {
    const { files, at } = world();
    await files.makeDirectory(at("a/b"), 0o700);
    await files.writeAtomically(at("a/b/file"), bytes("x"), 0o600);
    await files.rename(at("a"), at("c"));
    await files.writeAtomically(at("c/b/file"), bytes("y"), 0o600);
    await files.makeDirectory(at("a/b"), 0o700);
    await files.writeAtomically(at("a/b/file"), bytes("z"), 0o600);
    const found = await Promise.all(["a/b/file", "c/b/file"].map(async (name) => text(await files.read(at(name), 9))));
    assert.deepEqual(found, ["z", "y"]);
  });
}

function naming(world: World): void {
  test("makeDirectory creates parents, and keeps the mode of an existing directory", async () => {
    const { files, at } = world();
    await files.makeDirectory(at("a/b/c"), 0o777);
    await files.makeDirectory(at("a/b/c"), 0o700);
    const facts = await files.facts(at("a/b/c"));
    assert.deepEqual([facts?.kind, facts?.mode], ["directory", 0o777]);
    await files.makeFile(at("a/file"), 0o600);
    await rejects("exists", files.makeDirectory(at("a/file"), 0o700));
    await files.makeDirectory(at("a/Z"), 0o700);
    assert.deepEqual(await files.list(at("a")), ["Z", "b", "file"]);
    await rejects("notFound", files.list(at("none")));
    await rejects("notFound", files.list(at("a/file")));
  });

  test("link replaces an existing link, and nothing else", async () => {
    const { files, at } = world();
    await files.link("/one", at("link"));
    await files.link("/two", at("link"));
    await files.link("/two", at("link"));
    assert.equal(await files.readLink(at("link")), "/two");
    assert.equal((await files.facts(at("link")))?.kind, "link");
    await files.makeFile(at("file"), 0o600);
    await rejects("exists", files.link("/two", at("file")));
    await rejects("notFound", files.readLink(at("none")));
    await rejects("other", files.readLink(at("file")));
    assert.deepEqual(await files.list(at(".")), ["file", "link"]);
  });
}

function removing(world: World): void {
  test("removing a missing path succeeds", async () => {
    const { files, at } = world();
    await files.makeFile(at("file"), 0o600);
    await files.makeDirectory(at("directory"), 0o700);
    for (let turn = 0; turn < 2; turn += 1) {
      await files.removeFile(at("file"));
      await files.removeDirectory(at("directory"));
      await files.removeTree(at("directory"));
    }
    assert.deepEqual(await files.list(at(".")), []);
  });

  test("removeDirectory rejects a non-empty directory, and removeFile rejects a directory", async () => {
    const { files, at } = world();
    await files.makeDirectory(at("directory/below"), 0o700);
    await rejects("notEmpty", files.removeDirectory(at("directory")));
    await rejects("exists", files.removeFile(at("directory")));
    assert.deepEqual(await files.list(at("directory")), ["below"]);
  });

  test("removeTree removes the whole tree and keeps the targets of its links", async () => {
    const { files, at } = world();
    await files.makeDirectory(at("kept"), 0o700);
    await files.makeFile(at("kept/file"), 0o600);
    await files.makeDirectory(at("tree/a/b"), 0o700);
    await files.makeFile(at("tree/a/b/file"), 0o600);
    await files.link(at("kept"), at("tree/a/link"));
    await files.link(at("kept/file"), at("tree/file"));
    await files.removeTree(at("tree"));
    assert.deepEqual([await files.list(at(".")), await files.list(at("kept"))], [["kept"], ["file"]]);
    await files.link(at("kept"), at("link"));
    await files.removeTree(at("link"));
    assert.deepEqual([await files.list(at(".")), await files.list(at("kept"))], [["kept"], ["file"]]);
  });
}

function watching(world: World): void {
  test("a watch hints at once, on changes, and when its directory is removed or created, until its signal aborts", async () => {
    const { files, at } = world();
    await files.makeDirectory(at("watched"), 0o700);
    const stop = new AbortController();
    const hints = new Hints(files.watch(at("watched"), stop.signal));
    await hints.next();
    await hints.quiet();
    await files.writeAtomically(at("watched/a"), bytes("x"), 0o600);
    await hints.next();
    await hints.quiet();
    await files.removeTree(at("watched"));
    await hints.next();
    await hints.quiet();
    await files.makeDirectory(at("watched"), 0o700);
    await hints.next();
    await hints.quiet();
    await files.makeFile(at("watched/b"), 0o600);
    await hints.next();
    stop.abort();
    await hints.ended;
  });

  test("a watch waits for a missing directory, and merges hints while its reader is busy", async () => {
    const { files, at } = world();
    const stop = new AbortController();
    const iterator = files.watch(at("later"), stop.signal)[Symbol.asyncIterator]();
    assert.equal((await iterator.next()).done, false);
    const next = iterator.next();
    await files.makeDirectory(at("later"), 0o700);
    assert.equal((await next).done, false);
    for (let turn = 0; turn < 50; turn += 1) await files.makeFile(at(`later/${turn}`), 0o600);
    const counted = new Hints({ [Symbol.asyncIterator]: () => iterator });
    await counted.quiet();
    assert.ok(counted.count >= 1 && counted.count < 25, `${counted.count} hints for 50 changes`);
    stop.abort();
    await counted.ended;
  });

  test("a watch names an entry that is removed and created at once, and none that is replaced", async () => {
    const { files, at } = world();
    await files.makeDirectory(at("watched"), 0o700);
    for (const name of ["a", "b", "replaced"]) await files.makeFile(at(`watched/${name}`), 0o600);
    const stop = new AbortController();
    const hints = new Hints(files.watch(at("watched"), stop.signal));
    await hints.next();
    await hints.quiet();
    for (const name of ["a", "b"]) await files.removeFile(at(`watched/${name}`));
    for (const name of ["a", "b"]) await files.makeFile(at(`watched/${name}`), 0o600);
    for (const content of ["1", "2"]) await files.writeAtomically(at("watched/replaced"), bytes(content), 0o600);
    await files.makeFile(at("watched/new"), 0o600);
    await hints.quiet();
    // Temporary files are hidden.
    const visible = [...hints.recreated].filter((name) => !name.startsWith("."));
    assert.deepEqual(visible.toSorted(), ["a", "b"]);
    stop.abort();
    await hints.ended;
  });

  test("a watch with an aborted signal ends at once, without a hint", async () => {
    const { files, at } = world();
    const hints = new Hints(files.watch(at("."), AbortSignal.abort()));
    await hints.ended;
    assert.equal(hints.count, 0);
  });
}

const QUIET_MS = 60;

class Hints {
  count = 0;
  readonly recreated = new Set<string>();
  readonly ended: Promise<void>;
  #seen = 0;
  #wake = () => {};

  constructor(source: AsyncIterable<DirectoryHint>) {
    this.ended = this.#read(source);
  }

  async #read(source: AsyncIterable<DirectoryHint>): Promise<void> {
    for await (const { recreated } of source) {
      for (const name of recreated) this.recreated.add(name);
      this.count += 1;
      this.#wake();
    }
  }

  /** Waits for at least one hint since the last call. */
  async next(): Promise<void> {
    while (this.count === this.#seen) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#seen = this.count;
  }

  /** Waits until no hint arrives for QUIET_MS. */
  async quiet(): Promise<void> {
    for (let before = -1; before !== this.count; ) {
      before = this.count;
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    }
    this.#seen = this.count;
  }
}

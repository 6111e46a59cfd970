import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as fc from "fast-check";
import type { MountPoint } from "../../ports/mounts.ts";
import { hostClock } from "../host/clock.ts";
import { isShared, mountOf, mountsAt, mountsWithin, parseMountinfo } from "./mountinfo.ts";

void test("parseMountinfo reads all fields, with any number of optional ones", () => {
  const [first, second] = parseMountinfo(
    [
      String.raw`36 35 98:0 /mnt1 /mnt\0402\134x rw,noatime shared:7 master:1 - ext3 /dev/root rw,errors=continue`,
      `37 36 0:48 / / ro - tmpfs tmpfs rw,context="a:b:c0,c1",size=64k`,
      "",
    ].join("\n"),
  );
  assert.deepEqual(first, {
    path: String.raw`/mnt 2\x`,
    root: "/mnt1",
    type: "ext3",
    source: "/dev/root",
    device: "98:0",
    options: ["rw", "noatime"],
    superOptions: ["rw", "errors=continue"],
    propagation: ["shared:7", "master:1"],
  });
  assert.deepEqual(second?.propagation, []);
  assert.deepEqual(second?.superOptions, ["rw", 'context="a:b:c0,c1"', "size=64k"]);
});

void test("the (deleted) suffix of a path is removed; //deleted of a root is kept", () => {
  const line = String.raw`1 2 0:5 /a//deleted /srv/v\040(deleted) rw - nfs4 server:/a rw`;
  const [mount] = parseMountinfo(line);
  assert.deepEqual([mount?.root, mount?.path], ["/a//deleted", "/srv/v"]);
});

void test("a source may be empty, and a mount path may be a dash", () => {
  const [mount] = parseMountinfo("1 2 0:5 / - rw shared:1 - tmpfs  rw");
  assert.deepEqual([mount?.path, mount?.type, mount?.source], ["-", "tmpfs", ""]);
});

void test("parseMountinfo rejects a malformed line", () => {
  for (const line of ["x", "1 2 0:5 / /a rw", "1 2 0:5 / /a rw shared:1 ext4 /dev/a rw", "1 2 0:5 / /a rw - ext4"]) {
    assert.throws(() => parseMountinfo(`${line}\n`), /mount/, line);
  }
});

void test("parseMountinfo parses this machine's mount table", () => {
  const table = parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8"));
  assert.ok(table.some(({ path, type }) => path === "/proc" && type === "proc"));
});

const escape = (field: string) =>
  field.replaceAll(/[ \t\n\\#]/g, (found) => `\\${(found.codePointAt(0) ?? 0).toString(8).padStart(3, "0")}`);

const name = fc.string({ unit: fc.constantFrom(..." \t\n\\#-abä,:\"'/(".split("")), minLength: 1, maxLength: 12 });
const word = fc.string({ unit: fc.constantFrom(..."abc01:=/_".split("")), minLength: 1, maxLength: 8 });
const words = fc.array(word, { minLength: 1, maxLength: 4 });
const mountPoint: fc.Arbitrary<MountPoint> = fc
  .record({
    path: name.map((text) => `/${text}`),
    root: name.map((text) => `/${text}`),
    type: word,
    source: name,
    device: fc.tuple(fc.nat(255), fc.nat(255)).map((pair) => pair.join(":")),
    options: words,
    superOptions: words,
    propagation: fc.array(word, { maxLength: 3 }),
  })
  .map((mount) => ({ ...mount }));
const lineOf = (mount: MountPoint) =>
  [
    ["1 2", mount.device, escape(mount.root), escape(mount.path), mount.options.join(","), ...mount.propagation],
    ["-", escape(mount.type), escape(mount.source), mount.superOptions.join(",")],
  ]
    .flat()
    .join(" ");

void test("parseMountinfo returns random mounts unchanged", () => {
  fc.assert(
    fc.property(fc.array(mountPoint), (mounts) => {
      assert.deepEqual(parseMountinfo(`${mounts.map(lineOf).join("\n")}\n`), mounts);
    }),
  );
});

void test("parseMountinfo returns one mount per line of random text, or throws", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'12 -/\\0\n,"a:'.split("")), maxLength: 80 }), (text) => {
      let mounts: readonly MountPoint[];
      try {
        mounts = parseMountinfo(text);
      } catch (error) {
        assert.match(String(error), /mount/);
        return;
      }
      assert.equal(mounts.length, text.split("\n").filter((line) => line !== "").length);
    }),
  );
});

void test("a table of 10 000 mounts is parsed in less than two seconds", () => {
  const line = String.raw`36 35 98:0 /a\040b /var/lib/kubelet/pods/p/volumes/k~e/v rw,noatime shared:7 - tmpfs tmpfs rw,size=64k`;
  const text = `${line}\n`.repeat(10_000);
  const beginMs = hostClock.monotonicMs();
  assert.equal(parseMountinfo(text).length, 10_000);
  assert.ok(hostClock.monotonicMs() - beginMs < 2000);
});

const table = parseMountinfo(
  [
    "1 0 8:1 / / rw shared:1 - ext4 /dev/a rw",
    "2 1 0:5 / /a rw - tmpfs tmpfs rw",
    "3 2 0:6 / /a/b rw shared:2 - tmpfs tmpfs rw",
    "4 2 0:7 / /a/b rw - tmpfs upper rw",
    "5 1 0:8 / /ab rw - tmpfs tmpfs rw",
  ].join("\n"),
);

void test("mounts are found at a path, below it, and by a path they contain", () => {
  const sources = (mounts: readonly MountPoint[]) => mounts.map(({ device }) => device);
  assert.deepEqual(sources(mountsAt(table, "/a/b")), ["0:6", "0:7"]);
  assert.deepEqual(sources(mountsWithin(table, "/a")), ["0:5", "0:6", "0:7"]);
  assert.equal(mountsWithin(table, "/").length, 5);
  assert.deepEqual(
    ["/a/b/c", "/a/bc", "/abc", "/a"].map((path) => mountOf(table, path)?.device),
    ["0:7", "0:5", "8:1", "0:5"],
  );
  assert.deepEqual(
    [isShared(mountOf(table, "/x")), isShared(mountOf(table, "/a")), isShared(undefined)],
    [true, false, false],
  );
});

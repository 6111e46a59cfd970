import assert from "node:assert/strict";
import { test } from "node:test";
import { hostFilesContract } from "../test/contract/host-files-contract.ts";
import { ManualClock } from "../test/support/manual-clock.ts";
import { drain } from "./drain.ts";
import { FakeFiles } from "./fake-files.ts";
import { SeededRandom } from "./seeded-random.ts";

const create = () => new FakeFiles({ clock: new ManualClock() });

hostFilesContract("the simulator's files", async () => {
  const fake = create();
  fake.makeFolder("/var/scratch", 0o755);
  return { files: fake.port, folder: "/var/scratch", uid: 1234, gid: 5678, end: async () => {} };
});

/** What a crash leaves of the same deeds, over many seeds. */
async function afterCrashes<T>(
  act: (fake: FakeFiles) => Promise<void>,
  look: (fake: FakeFiles) => Promise<T>,
): Promise<ReadonlySet<T>> {
  const seen = new Set<T>();
  for (let seed = 0; seed < 60; seed += 1) {
    const fake = create();
    await act(fake);
    fake.crash(new SeededRandom(seed));
    seen.add(await look(fake));
  }
  return seen;
}

const content = async (fake: FakeFiles, path: string) => String(Buffer.from(await fake.port.read(path, 1e6)));

void test("what was written durably is there after a crash, with the folders above it", async () => {
  const seen = await afterCrashes(
    async (fake) => {
      await fake.port.makeFolder("/a/b", 0o700);
      await fake.port.writeAtomically("/a/b/file", Buffer.from("one"), 0o600);
      await fake.port.appendAt("/a/b/file", 3, Buffer.from(" two"));
    },
    (fake) => content(fake, "/a/b/file"),
  );
  assert.deepEqual(seen, new Set(["one two"]));
});

void test("an append that is not synced may be undone, in part too, until one that is comes after it", async () => {
  const written = (last: "synced" | "unsynced") =>
    afterCrashes(
      async (fake) => {
        await fake.port.writeAtomically("/file", Buffer.from("one"), 0o600);
        await fake.port.appendAt("/file", 3, Buffer.from(" two"), "unsynced");
        await fake.port.appendAt("/file", 7, Buffer.from(" three"), last);
      },
      (fake) => content(fake, "/file"),
    );
  const seen = await written("unsynced");
  assert.ok(seen.has("one") && seen.has("one two three"));
  assert.deepEqual(await written("synced"), new Set(["one two three"]));
});

void test("a folder, a file, a link or a removal that nobody synced may be undone, or not", async () => {
  const seen = await afterCrashes(
    async (fake) => {
      await fake.port.writeAtomically("/old", Buffer.from("x"), 0o600);
      await fake.port.makeFolder("/folder", 0o700);
      await fake.port.removeFile("/old");
    },
    async (fake) => (await fake.port.list("/")).join(" "),
  );
  assert.deepEqual(seen, new Set(["", "folder", "old", "folder old"]));
});

void test("an append cut short leaves the old bytes, the new ones, or a torn part, and never touches what was before", async () => {
  const head = "h".repeat(700);
  const tail = Buffer.alloc(2000, "t");
  const lengths = new Set<number>();
  let zeroed = 0;
  for (let seed = 0; seed < 100; seed += 1) {
    let steps = 0;
    const fake: FakeFiles = new FakeFiles({
      clock: new ManualClock(),
      beforeStep: async ({ operation }) => {
        if (operation === "appendAt") steps += 1;
        if (steps === 2) fake.crash(new SeededRandom(seed));
      },
    });
    await fake.port.writeAtomically("/file", Buffer.from(head), 0o600);
    void fake.port.appendAt("/file", head.length, tail);
    await drain();
    steps = 9;
    const left = await content(fake, "/file");
    assert.match(left, /^h{700}t*\0*$/);
    if (left.includes("\0")) zeroed += 1;
    else lengths.add(left.length);
  }
  assert.ok(zeroed > 5 && lengths.size > 4, `${zeroed} zeroed, lengths ${[...lengths].join(" ")}`);
  assert.ok(lengths.has(700) && lengths.has(2700));
});

void test("a killed process's calls neither end nor take effect, and all it wrote is seen by the next", async () => {
  const fake = create();
  const before = fake.port;
  await before.makeFolder("/a", 0o700);
  fake.kill();
  const late = before.makeFolder("/b", 0o700).then(() => "ended");
  const waited = drain().then(() => "waiting");
  assert.equal(await Promise.race([late, waited]), "waiting");
  assert.deepEqual(await fake.port.list("/"), ["a"]);
});

void test("a full disk takes a part of an append and nothing of a new file, and a removal makes room", async () => {
  const fake = create();
  const { port, disk } = fake;
  await port.writeAtomically("/a", Buffer.from("12345"), 0o600);
  disk.freeBytes = 3;
  await assert.rejects(port.writeAtomically("/b", Buffer.from("1234"), 0o600), { code: "noSpace" });
  await assert.rejects(port.appendAt("/a", 5, Buffer.from("6789")), { code: "noSpace" });
  assert.deepEqual([await content(fake, "/a"), await port.list("/"), disk.freeBytes], ["12345678", ["a"], 0]);
  await port.removeFile("/a");
  assert.equal(disk.freeBytes, 8);
  await port.writeAtomically("/b", Buffer.from("1234"), 0o600);
  await port.writeAtomically("/b", Buffer.from("12"), 0o600);
  assert.equal(disk.freeBytes, 6);
});

void test("a mount is not entered by a removal", async () => {
  const fake = create();
  fake.makeFolder("/tree/a", 0o700);
  fake.makeFolder("/tree/b/mount", 0o700);
  const place = fake.disk.locate("/tree/b/mount");
  assert.ok(place);
  fake.disk.mounts.attach(fake.disk.mounts.top, place);
  await assert.rejects(fake.port.removeTree("/tree"), { code: "notPermitted" });
  assert.deepEqual(await fake.port.list("/tree"), ["a", "b"]);
});

void test("a fault on demand fails a call before its work or after it", async () => {
  const fake = create();
  fake.faultFor = ({ path }) => ({ code: "readOnly", effect: path === "/before" ? "none" : "done" });
  await assert.rejects(fake.port.makeFolder("/before", 0o700), { code: "readOnly" });
  await assert.rejects(fake.port.makeFolder("/after", 0o700), { code: "readOnly" });
  fake.faultFor = () => undefined;
  assert.deepEqual(await fake.port.list("/"), ["after"]);
});

void test("a new file that finds no room leaves nothing, and a file that is replaced gives its room back", async () => {
  const { port, disk } = create();
  disk.freeBytes = 6;
  await assert.rejects(port.writeNew("/a", Buffer.from("1234567"), { mode: 0o600 }), { code: "noSpace" });
  assert.deepEqual([await port.list("/"), disk.freeBytes], [[], 6]);
  await port.writeNew("/a", Buffer.from("123"), { mode: 0o600 });
  await port.writeNew("/b", Buffer.from("12"), { mode: 0o600 });
  assert.equal(disk.freeBytes, 1);
  await port.rename("/b", "/a");
  assert.deepEqual([await port.list("/"), disk.freeBytes], [["a"], 4]);
});

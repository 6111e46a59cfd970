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
  fake.makeDirectory("/var/scratch", 0o755);
  return { files: fake.port, directory: "/var/scratch", uid: 1234, gid: 5678, end: async () => {} };
});

/** The different results of the same operations after a crash, over many seeds. */
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

void test("durable writes and the directories above them survive a crash", async () => {
  const seen = await afterCrashes(
    async (fake) => {
      await fake.port.makeDirectory("/a/b", 0o700);
      await fake.port.writeAtomically("/a/b/file", Buffer.from("one"), 0o600);
      await fake.port.appendAt("/a/b/file", 3, Buffer.from(" two"));
    },
    (fake) => content(fake, "/a/b/file"),
  );
  assert.deepEqual(seen, new Set(["one two"]));
});

void test("an unsynced append may be lost, also in part, until a synced append follows it", async () => {
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

void test("an unsynced directory or removal may or may not survive a crash", async () => {
  const seen = await afterCrashes(
    async (fake) => {
      await fake.port.writeAtomically("/old", Buffer.from("x"), 0o600);
      await fake.port.makeDirectory("/directory", 0o700);
      await fake.port.removeFile("/old");
    },
    async (fake) => (await fake.port.list("/")).join(" "),
  );
  assert.deepEqual(seen, new Set(["", "directory", "old", "directory old"]));
});

void test("an interrupted append leaves none, all or a torn part of the new bytes, and never changes earlier ones", async () => {
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

void test("calls of a killed process neither return nor take effect, and all it wrote stays visible", async () => {
  const fake = create();
  const before = fake.port;
  await before.makeDirectory("/a", 0o700);
  fake.kill();
  const late = before.makeDirectory("/b", 0o700).then(() => "ended");
  const waited = drain().then(() => "waiting");
  assert.equal(await Promise.race([late, waited]), "waiting");
  assert.deepEqual(await fake.port.list("/"), ["a"]);
});

void test("a full disk stores part of an append and nothing of a new file, and a removal frees space", async () => {
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

void test("removeTree does not enter a mount and fails with notPermitted", async () => {
  const fake = create();
  fake.makeDirectory("/tree/a", 0o700);
  fake.makeDirectory("/tree/b/mount", 0o700);
  const place = fake.disk.locate("/tree/b/mount");
  assert.ok(place);
  fake.disk.mounts.attach(fake.disk.mounts.top, place);
  await assert.rejects(fake.port.removeTree("/tree"), { code: "notPermitted" });
  assert.deepEqual(await fake.port.list("/tree"), ["a", "b"]);
});

void test("an injected fault fails a call before or after its effect", async () => {
  const fake = create();
  fake.faultFor = ({ path }) => ({ code: "readOnly", effect: path === "/before" ? "none" : "done" });
  await assert.rejects(fake.port.makeDirectory("/before", 0o700), { code: "readOnly" });
  await assert.rejects(fake.port.makeDirectory("/after", 0o700), { code: "readOnly" });
  fake.faultFor = () => undefined;
  assert.deepEqual(await fake.port.list("/"), ["after"]);
});

void test("a new file that does not fit leaves nothing, and a replaced file frees its space", async () => {
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

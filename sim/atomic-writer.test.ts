/** The writer of volume files, cut short before and after every step: each name is old or new at any moment, and the next write repairs what is left. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VOLUME_FILE_BYTES_MAX } from "../src/controllers/limits.ts";
import { type FileVolumePlace, writeFiles } from "../src/controllers/volumes/atomic-writer.ts";
import type { FileSet } from "../src/domain/volumes/file-set.ts";
import { withFileOfSize } from "../test/support/file-of-size.ts";
import { ManualClock } from "../test/support/manual-clock.ts";
import { FakeFiles, type FileCall } from "./fake-files.ts";
import { SeededRandom } from "./seeded-random.ts";

const FOLDER = "/root/pods/u/volumes/kubernetes.io~configmap/v";
const PLACE: FileVolumePlace = { folder: FOLDER, nested: [], group: undefined };
const set = (files: Readonly<Record<string, string>>): FileSet =>
  new Map(
    Object.entries(files).map(([path, text]) => [
      path,
      { content: new TextEncoder().encode(text), mode: 0o644, uid: undefined },
    ]),
  );
const OLD = { a: "old", "d/b": "old", gone: "old" };
const NEW = { a: "new", "d/b": "new", "d/c": "new", fresh: "new" };

class Cut extends Error {}

function world() {
  let left = Number.POSITIVE_INFINITY;
  const beforeStep = async (_call: FileCall) => {
    left -= 1;
    if (left < 0) throw new Cut("cut");
  };
  const files = new FakeFiles({ clock: new ManualClock(), beforeStep });
  files.makeFolder(FOLDER, 0o777);
  const random = new SeededRandom(1);
  const write = (wanted: FileSet, place = PLACE) =>
    writeFiles({ files: files.port, clock: new ManualClock(), random }, place, wanted);
  return { files, write, cutAfter: (steps: number) => void (left = steps) };
}

/** What a container that opens a name sees; undefined: nothing. */
function seen(files: FakeFiles, path: string): string | undefined {
  let at = `${FOLDER}/${path}`;
  for (let hops = 0; hops < 4; hops += 1) {
    const parts = at.slice(FOLDER.length + 1).split("/");
    const link = parts.findIndex(
      (_, index) => files.disk.find(`${FOLDER}/${parts.slice(0, index + 1).join("/")}`)?.kind === "link",
    );
    if (link < 0) break;
    const entry = files.disk.find(`${FOLDER}/${parts.slice(0, link + 1).join("/")}`);
    if (entry?.kind !== "link") break;
    at = [FOLDER, ...parts.slice(0, link), entry.target, ...parts.slice(link + 1)].join("/");
  }
  const entry = files.disk.find(at);
  return entry?.kind === "file" ? new TextDecoder().decode(entry.content) : undefined;
}

const look = (files: FakeFiles) =>
  Object.fromEntries([...new Set([...Object.keys(OLD), ...Object.keys(NEW)])].map((path) => [path, seen(files, path)]));
const whole = (wanted: Readonly<Record<string, string>>) =>
  Object.fromEntries([...new Set([...Object.keys(OLD), ...Object.keys(NEW)])].map((path) => [path, wanted[path]]));

test("[13.7] [27.1.11] the old set is seen, or the new one, at whatever step the writer is cut short; the next write makes it whole", async () => {
  let cuts = 0;
  for (let steps = 0; ; steps += 1) {
    const { files, write, cutAfter } = world();
    await write(set(OLD));
    assert.deepEqual(look(files), whole(OLD));
    cutAfter(steps);
    const done = await write(set(NEW)).then(
      () => true,
      (error: unknown) => {
        assert(error instanceof Cut);
        return false;
      },
    );
    const found = look(files);
    assert.deepEqual(found, found["a"] === "new" ? whole(NEW) : whole(OLD));
    cutAfter(Number.POSITIVE_INFINITY);
    await write(set(NEW));
    assert.deepEqual(look(files), whole(NEW));
    const names = [...(files.disk.folder(FOLDER)?.entries.keys() ?? [])].sort();
    assert.equal(names.length, 5, `nothing of what was cut short is left: ${names.join(" ")}`);
    if (done) break;
    cuts += 1;
  }
  assert(cuts > 20, `${cuts} cuts`);
});

test("[27.1.11] the names and links are those that other kubelets make and read", async () => {
  const { files, write } = world();
  await write(set({ a: "1", "d/b": "2" }));
  const entries = files.disk.folder(FOLDER)?.entries ?? new Map();
  const target = (name: string) => {
    const entry = files.disk.find(`${FOLDER}/${name}`);
    return entry?.kind === "link" ? entry.target : undefined;
  };
  assert.deepEqual([target("a"), target("d")], ["..data/a", "..data/d"]);
  assert.match(target("..data") ?? "", /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/);
  assert(entries.has(target("..data") ?? ""));
});

test("[13.13] files of a pod with a group are readable for it", async () => {
  const { files, write } = world();
  await write(new Map([["token", { content: new Uint8Array([1]), mode: 0o600, uid: 7 }]]), { ...PLACE, group: 1234 });
  const link = files.disk.find(`${FOLDER}/..data`);
  assert(link?.kind === "link");
  const facts = await files.port.facts(`${FOLDER}/${link.target}/token`);
  assert.deepEqual([facts?.mode, facts?.uid, facts?.gid], [0o640, 7, 1234]);
  const folder = await files.port.facts(`${FOLDER}/${link.target}`);
  assert.deepEqual([folder?.mode, folder?.gid], [0o2755, 1234]);
  const seen = await files.port.facts(`${FOLDER}/token`);
  assert.deepEqual([seen?.kind, seen?.uid, seen?.gid], ["link", 7, 1234]);
});

test("a set with a file of more than the limit is written again, one with a file of exactly the limit is kept", async () => {
  const { files, write } = world();
  await write(set(OLD));
  const target = () => files.port.readLink(`${FOLDER}/..data`);
  const before = await target();
  const writeOverSize = async (sizeBytes: number) => {
    const port = withFileOfSize(files.port, `${FOLDER}/${before}/a`, sizeBytes);
    await writeFiles({ files: port, clock: new ManualClock(), random: new SeededRandom(2) }, PLACE, set(OLD));
    return target();
  };
  assert.equal(await writeOverSize(VOLUME_FILE_BYTES_MAX), before);
  assert.notEqual(await writeOverSize(VOLUME_FILE_BYTES_MAX + 1), before);
  assert.deepEqual(look(files), whole(OLD));
});

/**
 * Cuts the volume file writer short before and after every step. At any moment each name shows old or new content, and
 * the next write repairs what is left.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VOLUME_FILE_BYTES_MAX } from "../src/controllers/limits.ts";
import { type FileVolumePlace, writeFiles } from "../src/controllers/volumes/atomic-writer.ts";
import type { FileSet } from "../src/domain/volumes/file-set.ts";
import { withFileOfSize } from "../test/support/file-of-size.ts";
import { ManualClock } from "../test/support/manual-clock.ts";
import { FakeFiles, type FileCall } from "./fake-files.ts";
import { SeededRandom } from "./seeded-random.ts";

const DIRECTORY = "/root/pods/u/volumes/kubernetes.io~configmap/v";
const PLACE: FileVolumePlace = { directory: DIRECTORY, nested: [], group: undefined };
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
  files.makeDirectory(DIRECTORY, 0o777);
  const random = new SeededRandom(1);
  const write = (wanted: FileSet, place = PLACE) =>
    writeFiles({ files: files.port, clock: new ManualClock(), random }, place, wanted);
  return { files, write, cutAfter: (steps: number) => void (left = steps) };
}

/** Returns what a container reads at a path; undefined if nothing is there. */
function seen(files: FakeFiles, path: string): string | undefined {
  let at = `${DIRECTORY}/${path}`;
  for (let hops = 0; hops < 4; hops += 1) {
    const parts = at.slice(DIRECTORY.length + 1).split("/");
    const link = parts.findIndex(
      (_, index) => files.disk.find(`${DIRECTORY}/${parts.slice(0, index + 1).join("/")}`)?.kind === "link",
    );
    if (link < 0) break;
    const entry = files.disk.find(`${DIRECTORY}/${parts.slice(0, link + 1).join("/")}`);
    if (entry?.kind !== "link") break;
    at = [DIRECTORY, ...parts.slice(0, link), entry.target, ...parts.slice(link + 1)].join("/");
  }
  const entry = files.disk.find(at);
  return entry?.kind === "file" ? new TextDecoder().decode(entry.content) : undefined;
}

const look = (files: FakeFiles) =>
  Object.fromEntries([...new Set([...Object.keys(OLD), ...Object.keys(NEW)])].map((path) => [path, seen(files, path)]));
const whole = (wanted: Readonly<Record<string, string>>) =>
  Object.fromEntries([...new Set([...Object.keys(OLD), ...Object.keys(NEW)])].map((path) => [path, wanted[path]]));

test("[13.7] [27.1.11] an interrupted writer leaves the old or the new set, and the next write completes it", async () => {
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
    const names = [...(files.disk.directory(DIRECTORY)?.entries.keys() ?? [])].sort();
    assert.equal(names.length, 5, `nothing of what was cut short is left: ${names.join(" ")}`);
    if (done) break;
    cuts += 1;
  }
  assert(cuts > 20, `${cuts} cuts`);
});

test("[27.1.11] names and links match those that other kubelets write and read", async () => {
  const { files, write } = world();
  await write(set({ a: "1", "d/b": "2" }));
  const entries = files.disk.directory(DIRECTORY)?.entries ?? new Map();
  const target = (name: string) => {
    const entry = files.disk.find(`${DIRECTORY}/${name}`);
    return entry?.kind === "link" ? entry.target : undefined;
  };
  assert.deepEqual([target("a"), target("d")], ["..data/a", "..data/d"]);
  assert.match(target("..data") ?? "", /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/);
  assert(entries.has(target("..data") ?? ""));
});

test("[13.13] files of a pod with an fsGroup are readable by that group", async () => {
  const { files, write } = world();
  await write(new Map([["token", { content: new Uint8Array([1]), mode: 0o600, uid: 7 }]]), { ...PLACE, group: 1234 });
  const link = files.disk.find(`${DIRECTORY}/..data`);
  assert(link?.kind === "link");
  const facts = await files.port.facts(`${DIRECTORY}/${link.target}/token`);
  assert.deepEqual([facts?.mode, facts?.uid, facts?.gid], [0o640, 7, 1234]);
  const directory = await files.port.facts(`${DIRECTORY}/${link.target}`);
  assert.deepEqual([directory?.mode, directory?.gid], [0o2755, 1234]);
  const seen = await files.port.facts(`${DIRECTORY}/token`);
  assert.deepEqual([seen?.kind, seen?.uid, seen?.gid], ["link", 7, 1234]);
});

test("rewrites a set with a file above the size limit and keeps one with a file of exactly the limit", async () => {
  const { files, write } = world();
  await write(set(OLD));
  const target = () => files.port.readLink(`${DIRECTORY}/..data`);
  const before = await target();
  const writeOverSize = async (sizeBytes: number) => {
    const port = withFileOfSize(files.port, `${DIRECTORY}/${before}/a`, sizeBytes);
    await writeFiles({ files: port, clock: new ManualClock(), random: new SeededRandom(2) }, PLACE, set(OLD));
    return target();
  };
  assert.equal(await writeOverSize(VOLUME_FILE_BYTES_MAX), before);
  assert.notEqual(await writeOverSize(VOLUME_FILE_BYTES_MAX + 1), before);
  assert.deepEqual(look(files), whole(OLD));
});

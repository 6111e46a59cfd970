import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { VirtualClock } from "../../../sim/virtual-clock.ts";
import { withFileOfSize } from "../../../test/support/file-of-size.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import { HostFileError } from "../../ports/host-files.ts";
import { USER_NAMESPACE_FILE_BYTES_MAX } from "../limits.ts";
import { UserNamespaceAllocator } from "./user-namespace-allocator.ts";

const LENGTH = 65_536;
const at = (index: number) => (index + 1) * LENGTH;

function world(count = 65_535) {
  const files = new FakeFiles({ clock: new VirtualClock() }).port;
  const inRuntime: number[] = [];
  const log = keptLog();
  const parts = { log, rootDir: "/root", space: { first: LENGTH, count, length: LENGTH }, inRuntime: () => inRuntime };
  const file = (uid: string) => `/root/pods/${uid}/userns`;
  return {
    files,
    inRuntime,
    log,
    file,
    directory: (uid: string) => files.makeDirectory(`/root/pods/${uid}`, 0o750),
    /** Loads the ranges like a new process. */
    begin: (over: Partial<typeof files> = {}) => new UserNamespaceAllocator({ ...parts, files: { ...files, ...over } }),
    write: (uid: string, text: string) => files.writeNew(file(uid), utf8Bytes(text), { mode: 0o600 }),
  };
}

const firstOf = async (allocator: UserNamespaceAllocator, uid: string) =>
  (await allocator.allocate(uid)).uids[0]?.hostId;

test("[25.7] [27.1.15] each pod gets its own ID range, stored on disk and kept over restarts", async () => {
  const { files, file, directory, begin } = world();
  for (const uid of ["a", "b", "c"]) await directory(uid);
  const allocator = begin();
  assert.deepEqual(await Promise.all(["a", "b"].map((uid) => firstOf(allocator, uid))), [at(0), at(1)]);
  assert.equal(await firstOf(allocator, "a"), at(0));
  assert.equal(
    utf8Text(await files.read(file("b"), 1000)),
    `{"uidMappings":[{"hostId":${at(1)},"containerId":0,"length":65536}],"gidMappings":[{"hostId":${at(1)},"containerId":0,"length":65536}]}`,
  );
  assert.equal((await files.facts(file("b")))?.mode, 0o600);
  const next = begin();
  assert.equal(await firstOf(next, "c"), at(2));
  assert.equal(await firstOf(next, "b"), at(1));
});

test("[25.7] a released range is assigned again, and its file is removed", async () => {
  const { files, file, directory, begin } = world();
  for (const uid of ["a", "b"]) await directory(uid);
  const allocator = begin();
  await allocator.allocate("a");
  await allocator.release("a");
  await allocator.release("a");
  await allocator.release("never seen");
  assert.equal(await files.facts(file("a")), undefined);
  assert.equal(await firstOf(allocator, "b"), at(0));
});

test("[25.7] an unreadable range file is logged, and ranges known from the runtime are not assigned again", async () => {
  const { inRuntime, log, directory, begin, write } = world();
  for (const uid of ["torn", "new", "newer"]) await directory(uid);
  await write("torn", '{"uidMappings":[');
  inRuntime.push(at(0));
  const allocator = begin();
  assert.equal(await firstOf(allocator, "new"), at(1));
  assert.equal(await firstOf(allocator, "newer"), at(2));
  assert.ok(
    log.lines.some((line) => line.includes("Failed to read a pod's user namespace ID range")),
    log.lines.join("\n"),
  );
});

test("[25.7] a range file larger than the limit is not read and its pod gets another range; one of exactly the limit is read", async () => {
  for (const [sizeBytes, range, lines] of [
    [USER_NAMESPACE_FILE_BYTES_MAX, at(0), 0],
    [USER_NAMESPACE_FILE_BYTES_MAX + 1, at(1), 1],
  ] as const) {
    const { files, file, directory, begin, log, inRuntime } = world();
    await directory("a");
    await begin().allocate("a");
    inRuntime.push(at(0));
    assert.equal(await firstOf(begin(withFileOfSize(files, file("a"), sizeBytes)), "a"), range);
    assert.equal(
      log.lines.filter((line) => line.includes("Failed to read a pod's user namespace ID range")).length,
      lines,
    );
  }
});

test("[25.7] a pod without a free range fails until the directory of another pod is removed", async () => {
  const { files, directory, begin } = world(2);
  for (const uid of ["a", "b", "c"]) await directory(uid);
  const allocator = begin();
  await allocator.allocate("a");
  await allocator.allocate("b");
  const message = "create user namespace: could not find an empty slot to allocate a user namespace";
  await assert.rejects(allocator.allocate("c"), { message });
  await files.removeTree("/root/pods/a");
  assert.equal(await firstOf(allocator, "c"), at(0));
});

test("[25.7] a range that cannot be stored is not used, and the next request may get it", async () => {
  const { directory, begin } = world();
  for (const uid of ["a", "b"]) await directory(uid);
  let isFull = true;
  const { files } = world();
  const allocator = begin({
    writeAtomically: async (path, content, mode) => {
      if (isFull) throw new HostFileError("write", path, "noSpace", "no space left on device");
      await files.makeDirectory(path.slice(0, path.lastIndexOf("/")), 0o750);
      await files.writeAtomically(path, content, mode);
    },
  });
  await assert.rejects(allocator.allocate("a"), /^Error: create user namespace: write .*no space left on device$/);
  isFull = false;
  assert.equal(await firstOf(allocator, "b"), at(0));
});

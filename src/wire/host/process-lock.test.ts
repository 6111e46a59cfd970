import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { hostClock } from "./clock.ts";
import { isWaitedFor, lockWanted, takeHandoverLock, takeProcessLock } from "./process-lock.ts";

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "deckhand-lock-"));
});
after(() => rm(directory, { recursive: true }));

const never = new AbortController().signal;

test("process lock rejects a second holder until the first releases it", async () => {
  const file = join(directory, "a");
  const first = await takeProcessLock(file, hostClock, never);
  await assert.rejects(takeProcessLock(file, hostClock, never), /another node agent holds/);
  first.release();
  (await takeProcessLock(file, hostClock, never)).release();
});

test("process lock is free after its holder was killed", async () => {
  const file = join(directory, "b");
  const program = `
    import { takeProcessLock } from ${JSON.stringify(join(import.meta.dirname, "process-lock.ts"))};
    import { hostClock } from ${JSON.stringify(join(import.meta.dirname, "clock.ts"))};
    await takeProcessLock(${JSON.stringify(file)}, hostClock, new AbortController().signal);
    console.log("held");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  child.kill("SIGKILL");
  (await takeProcessLock(file, hostClock, never)).release();
});

/** Another process that wants the lock, and keeps it once it has it. */
async function contender(file: string): Promise<ChildProcess & { readonly held: Promise<unknown> }> {
  const child = spawn("flock", [file, "sh", "-c", "echo held; exec cat"], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child, "spawn");
  return Object.assign(child, { held: once(child.stdout, "data") });
}

test("[1.17] handover lock waits for its holder, has mode 0600, and excludes flock(1)", async () => {
  const file = join(directory, "c");
  const first = await takeHandoverLock(file, never);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  let isHeld = false;
  const second = takeHandoverLock(file, never).then((lock) => {
    isHeld = true;
    return lock;
  });
  const other = await contender(file);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.deepEqual([isHeld, other.exitCode], [false, null]);
  first.release();
  // Whichever gets the lock first releases it for the other.
  const release = async () => {
    await other.held;
    other.stdin?.end();
  };
  const [lock] = await Promise.all([second.then((held) => (held.release(), held)), release()]);
  assert.ok(lock !== undefined && isHeld);
});

test("[1.17] an aborted wait for the handover lock rejects, and leaves the lock available", async () => {
  const file = join(directory, "d");
  const first = await takeHandoverLock(file, never);
  const impatient = new AbortController();
  const second = takeHandoverLock(file, impatient.signal);
  await new Promise((resolve) => setTimeout(resolve, 200));
  impatient.abort(new Error("enough"));
  await assert.rejects(second, { message: "enough" });
  first.release();
  (await takeHandoverLock(file, never)).release();
});

test("[1.17] lockWanted reports another process waiting for the lock, or a removed lock file", async () => {
  const file = join(directory, "e");
  const fast = { ...hostClock, after: (ms: number, fire: () => void) => hostClock.after(ms / 20, fire) };
  const lock = await takeHandoverLock(file, never);
  const quiet = new AbortController();
  const nobody = lockWanted(file, lock, fast, quiet.signal);
  await new Promise((resolve) => setTimeout(resolve, 300));
  quiet.abort(new Error("nobody came"));
  await assert.rejects(nobody, { message: "nobody came" });

  const other = await contender(file);
  assert.equal(await lockWanted(file, lock, fast, never), "wanted");
  lock.release();
  await other.held;
  other.stdin?.end();
  await once(other, "exit");

  const again = await takeHandoverLock(file, never);
  const gone = lockWanted(file, again, fast, never);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await rm(file);
  assert.equal(await gone, "gone");
  again.release();
});

test("isWaitedFor counts only flock waiters on the same device and inode", () => {
  const held = "1: FLOCK  ADVISORY  WRITE 708 08:01:1234 0 EOF";
  const beside = (text: string) => isWaitedFor(`${held}\n${text}\n`, 708);
  assert.equal(beside("1: -> FLOCK  ADVISORY  WRITE 709 08:01:1234 0 EOF"), true);
  assert.equal(beside("2: FLOCK  ADVISORY  WRITE 709 08:01:1234 0 EOF"), false);
  assert.equal(beside("2: -> FLOCK  ADVISORY  WRITE 709 08:01:12345 0 EOF"), false);
  assert.equal(beside("2: -> FLOCK  ADVISORY  WRITE 709 00:2f:1234 0 EOF"), false, "the same number on another device");
  assert.equal(beside("2: -> POSIX  ADVISORY  WRITE 709 08:01:1234 0 EOF"), false);
  assert.equal(isWaitedFor(`${held}\n1: -> FLOCK  ADVISORY  WRITE 709 08:01:1234 0 EOF\n`, 707), false);
});

test("a lock is reported lost when its holder process is killed, not when it is released", async () => {
  for (const [index, take] of [
    (file: string) => takeProcessLock(file, hostClock, never),
    (file: string) => takeHandoverLock(file, never),
  ].entries()) {
    const file = join(directory, `lost-${index}`);
    const lock = await take(file);
    process.kill(lock.pid ?? assert.fail("nobody holds it"), "SIGKILL");
    assert.equal((await lock.lost).message, `the lock ${file} is lost: who held it ended with SIGKILL`);
    lock.release();
  }
  const lock = await takeProcessLock(join(directory, "kept"), hostClock, never);
  let isLost = false;
  void lock.lost.then(() => {
    isLost = true;
  });
  lock.release();
  (await takeProcessLock(join(directory, "kept"), hostClock, never)).release();
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(isLost, false);
});

/**
 * One process per folder: two agents on one root would undo each other's work. The lock is the kernel's (flock), held by a small child
 * that lives exactly as long as we do: it reads from a pipe of ours and ends when that closes, however we die. Node has no flock itself.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { open, readFile, stat } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { sleep } from "../../concurrency/sleep.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import type { Clock } from "../../ports/clock.ts";
import { errnoOf } from "./errno.ts";
import { fileLocks, KERNEL_LOCKS } from "./kernel-locks.ts";

export interface ProcessLock {
  release(): void;
  /** Whom the kernel has as its holder. */
  readonly pid: number | undefined;
  /** Resolves when it is no longer ours though nobody released it: another agent may begin now. */
  readonly lost: Promise<Error>;
}

/** A killed predecessor's child needs a moment to notice. */
const TRY_FOR_MS = 3_000;
const TRY_EVERY_MS = 50;
const TAKEN = 99;

/** Rejects when another process holds it. The file must be in a folder that exists. */
export async function takeProcessLock(file: string, clock: Clock, signal: AbortSignal): Promise<ProcessLock> {
  const endMs = clock.monotonicMs() + TRY_FOR_MS;
  for (;;) {
    const lock = await tryLock(file);
    if (lock !== undefined) return lock;
    if (clock.monotonicMs() > endMs) throw new Error(`another node agent holds ${file}`);
    await sleep(clock, TRY_EVERY_MS, signal);
  }
}

const tryLock = (file: string) => holdLock(file, ["-n", "-E", String(TAKEN)]);

/**
 * A lock that agents of either kind hand over by: flock on the file, exclusively, as the Go kubelet takes it, waited for as long as it takes. The
 * file is made for root alone.
 */
export async function takeHandoverLock(file: string, signal: AbortSignal): Promise<ProcessLock> {
  await (await open(file, "a", 0o600)).close();
  const lock = await unlessAborted(holdLock(file, [], signal), signal);
  if (lock === undefined) throw new Error(`flock ${file} refused to wait`);
  return lock;
}

const LOOK_EVERY_MS = 1_000;

/**
 * Resolves when another process waits for the lock that this one holds, or the file is gone. Node cannot be told of a file that is opened, so the
 * kernel's table of locks is looked at, once a second.
 */
export async function lockWanted(
  file: string,
  { pid }: Pick<ProcessLock, "pid">,
  clock: Clock,
  signal: AbortSignal,
): Promise<"wanted" | "gone"> {
  const { ino } = await stat(file);
  for (;;) {
    await sleep(clock, LOOK_EVERY_MS, signal);
    const now = await stat(file).catch((error: unknown) => {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    });
    if (now?.ino !== ino) return "gone";
    if (isWaitedFor(await readFile(KERNEL_LOCKS, "utf8"), pid)) return "wanted";
  }
}

/** Whether someone waits for the file on which this process holds a lock. */
export function isWaitedFor(table: string, holder: number | undefined): boolean {
  const locks = fileLocks(table);
  const held = locks.find(({ waits, pid }) => !waits && pid === holder);
  return locks.some(({ waits, place }) => waits && place === held?.place);
}

/** Undefined: another holds it, and it was not to be waited for. */
function holdLock(file: string, options: readonly string[], signal?: AbortSignal): Promise<ProcessLock | undefined> {
  return new Promise((resolve, reject) => {
    const holder = [...options, file, "sh", "-c", "echo held; exec cat >/dev/null"];
    const child = spawn("flock", holder, { stdio: ["pipe", "pipe", "ignore"] });
    const giveUp = () => child.kill();
    signal?.addEventListener("abort", giveUp, { once: true });
    child.once("error", reject);
    child.once("exit", (code) => {
      if (code === TAKEN) resolve(undefined);
      else reject(new Error(`flock ${file} ended with ${code}`));
    });
    child.stdout.once("data", () => {
      signal?.removeEventListener("abort", giveUp);
      // It must not keep us alive; we keep it.
      child.unref();
      child.stdout.destroy();
      resolve(heldBy(child, file));
    });
  });
}

function heldBy(child: ChildProcessByStdio<Writable, Readable, null>, file: string): ProcessLock {
  const { promise: lost, resolve: lose } = Promise.withResolvers<Error>();
  let isReleased = false;
  child.once("exit", (code, cause) => {
    if (!isReleased) lose(new Error(`the lock ${file} is lost: who held it ended with ${cause ?? code}`));
  });
  // Written to only to end it; that it has gone is told by its exit.
  child.stdin.on("error", () => {});
  const release = () => {
    isReleased = true;
    child.stdin.end();
  };
  return { release, pid: child.pid, lost };
}

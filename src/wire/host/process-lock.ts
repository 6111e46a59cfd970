/**
 * Allows one process per directory: two agents on one root directory would undo each other's work. The lock is the
 * kernel's (flock). A small child process holds it, because Node has no flock. The child reads from a pipe of this
 * process and exits when the pipe closes, however this process dies.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { open, readFile, stat } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { raceAbort } from "../../concurrency/abort.ts";
import { sleep } from "../../concurrency/sleep.ts";
import type { Clock } from "../../ports/clock.ts";
import { errnoOf } from "./errno.ts";
import { fileLocks, KERNEL_LOCKS } from "./kernel-locks.ts";

export interface ProcessLock {
  release(): void;
  /** The process that the kernel lists as the holder. */
  readonly pid: number | undefined;
  /** Resolves if the lock is lost without a release: another agent may start now. */
  readonly lost: Promise<Error>;
}

/** The child of a killed previous agent needs a moment to notice. */
const TRY_FOR_MS = 3_000;
const TRY_EVERY_MS = 50;
const TAKEN = 99;

/** Rejects if another process holds the lock. The directory of the file must exist. */
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
 * The lock by which agents of either kind (Deckhand, Go kubelet) hand over a node: an exclusive flock on the file, as
 * the Go kubelet takes it, without a time limit. The file is created with access for root only.
 */
export async function takeHandoverLock(file: string, signal: AbortSignal): Promise<ProcessLock> {
  await (await open(file, "a", 0o600)).close();
  const lock = await raceAbort(holdLock(file, [], signal), signal);
  if (lock === undefined) throw new Error(`flock ${file} refused to wait`);
  return lock;
}

const LOOK_EVERY_MS = 1_000;

/**
 * Resolves when another process waits for the lock that this process holds, or when the file is gone. Node cannot
 * observe that a file is opened, so this polls the kernel's lock table once a second.
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

/** Whether any process waits for the file on which `holder` holds a lock. */
export function isWaitedFor(table: string, holder: number | undefined): boolean {
  const locks = fileLocks(table);
  const held = locks.find(({ waits, pid }) => !waits && pid === holder);
  return locks.some(({ waits, place }) => waits && place === held?.place);
}

/** Undefined: another process holds the lock, and `options` say not to wait. */
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
      // The child must not keep this process alive; this process keeps the child alive.
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
  // The pipe is only ever closed. The child's exit event reports that the child is gone.
  child.stdin.on("error", () => {});
  const release = () => {
    isReleased = true;
    child.stdin.end();
  };
  return { release, pid: child.pid, lost };
}

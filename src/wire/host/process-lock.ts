/**
 * One process per folder: two agents on one root would undo each other's work. The lock is the kernel's (flock), held by a small child
 * that lives exactly as long as we do: it reads from a pipe of ours and ends when that closes, however we die. Node has no flock itself.
 */
import { spawn } from "node:child_process";
import { sleep } from "../../concurrency/sleep.ts";
import type { Clock } from "../../ports/clock.ts";

export interface ProcessLock {
  release(): void;
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

function tryLock(file: string): Promise<ProcessLock | undefined> {
  return new Promise((resolve, reject) => {
    const holder = ["-n", "-E", String(TAKEN), file, "sh", "-c", "echo held; exec cat >/dev/null"];
    const child = spawn("flock", holder, { stdio: ["pipe", "pipe", "ignore"] });
    child.once("error", reject);
    child.once("exit", (code) => {
      if (code === TAKEN) resolve(undefined);
      else reject(new Error(`flock ${file} ended with ${code}`));
    });
    child.stdout.once("data", () => {
      // It must not keep us alive; we keep it.
      child.unref();
      child.stdout.destroy();
      resolve({ release: () => child.stdin.end() });
    });
  });
}

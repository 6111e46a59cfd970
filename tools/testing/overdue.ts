/**
 * Kills a test file that runs too long. The file's own process enforces node:test's limit, so a busy loop is not
 * stopped by it. The process handles SIGTERM only between two turns of its event loop. So the runner sends SIGKILL.
 */
import { readdirSync, readFileSync } from "node:fs";

/** Calls `onOverdue` for each file that has started and not ended within the limit, after killing its process. */
export class OverdueFiles {
  readonly #limitMs: number;
  readonly #onOverdue: (file: string) => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(limitMs: number, onOverdue: (file: string) => void) {
    this.#limitMs = limitMs;
    this.#onOverdue = onOverdue;
  }

  begin(file: string): void {
    const end = () => {
      for (const pid of childrenRunning(file)) process.kill(pid, "SIGKILL");
      this.#onOverdue(file);
    };
    this.#timers.set(file, setTimeout(end, this.#limitMs));
  }

  end(file: string): void {
    clearTimeout(this.#timers.get(file));
    this.#timers.delete(file);
  }
}

/** Returns our own child processes whose last argument is the file. */
function childrenRunning(file: string): readonly number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => parentOf(pid) === process.pid && argumentsOf(pid).at(-1) === file).map(Number);
}

/** The name in parentheses may contain spaces; the parent is the second field after it. */
const parentOf = (pid: string): number => Number(readProc(pid, "stat").split(") ").at(-1)?.split(" ")[1]);

const argumentsOf = (pid: string): readonly string[] =>
  readProc(pid, "cmdline")
    .split("\0")
    .filter((arg) => arg !== "");

/** A process that has exited in the meantime has no files. */
function readProc(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

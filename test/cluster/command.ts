/**
 * Runs a program until it exits, under a time limit, and returns its output. Long-lived programs of the harness start
 * elsewhere (`processes.ts`). Every short command goes through this module so that no failure is silent.
 */
import { spawn } from "node:child_process";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  readonly limitMs?: number;
}

/** Returns the result, whatever the exit code. Rejects when the program cannot start or exceeds its limit. */
export function tryCommand(
  file: string,
  args: readonly string[],
  { cwd, env, input, limitMs = 60_000 }: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      env: { ...process.env, ...env },
      ...(cwd === undefined ? {} : { cwd }),
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, limitMs);
    child.stdout?.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk));
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`cannot run ${file}: ${error.message}`, { cause: error }));
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      const result = {
        code: code ?? 128 + (signal === null ? 0 : 9),
        stdout: Buffer.concat(stdout).toString(),
        stderr: Buffer.concat(stderr).toString(),
      };
      if (timedOut) reject(new Error(`${describe(file, args)} did not end within ${limitMs} ms\n${result.stderr}`));
      else resolve(result);
    });
    if (input !== undefined) {
      child.stdin?.on("error", () => {}); // A program may exit without reading; its exit code reports any error.
      child.stdin?.end(input);
    }
  });
}

/** Returns stdout. Rejects on a non-zero exit code, with the program's error output. */
export async function command(file: string, args: readonly string[], options?: CommandOptions): Promise<string> {
  const result = await tryCommand(file, args, options);
  if (result.code !== 0) {
    throw new Error(`${describe(file, args)} ended with ${result.code}\n${result.stderr || result.stdout}`);
  }
  return result.stdout;
}

const describe = (file: string, args: readonly string[]) => [file, ...args].join(" ").slice(0, 400);

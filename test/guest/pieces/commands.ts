/**
 * The host's end of the runner in a guest (`runner/main.go`): it sends scripts and receives output and exit codes, for
 * any number of calls at once.
 *
 * A call returns the complete output or fails: output is acknowledged piece by piece, and the exit message contains the
 * number of bytes. The runner reports a reboot of the guest; calls in progress then fail.
 */
import { randomBytes } from "node:crypto";
import type { CommandResult } from "../../cluster/command.ts";
import { connectLines, type Lines } from "./lines.ts";

export interface RunOptions {
  readonly limitMs?: number;
}

/** The messages of the runner. */
type Said =
  | { readonly kind: "ready"; readonly session?: string; readonly bootId: string }
  | { readonly kind: "ack"; readonly id: string }
  | {
      readonly kind: "output";
      readonly id: string;
      readonly stream: "stdout" | "stderr";
      readonly data: string;
    }
  | {
      readonly kind: "exit";
      readonly id: string;
      readonly code: number;
      readonly stdoutBytes: number;
      readonly stderrBytes: number;
      readonly trouble?: string;
    };

interface Call {
  readonly stdout: Buffer[];
  readonly stderr: Buffer[];
  /** The part of the script that has not been sent yet. */
  unsent: Buffer;
  readonly resolve: (result: CommandResult) => void;
  readonly reject: (trouble: Error) => void;
}

interface BootWaiter {
  readonly isIt: (bootId: string) => boolean;
  readonly settle: (trouble?: Error) => void;
}

const PIECE_BYTES = 16 * 1024;
const RUN_MS = 60_000;

export class Commands {
  readonly #session = randomBytes(8).toString("hex");
  readonly #calls = new Map<string, Call>();
  readonly #boots = new Set<BootWaiter>();
  #lines: Lines | undefined;
  #ended: Error | undefined;
  #bootId: string | undefined;
  #nextId = 1;

  private constructor() {}

  /**
   * Connects and sends a greeting. A runner that listens answers it; a runner that starts later reports by itself that
   * it is ready.
   */
  static async connect(path: string): Promise<Commands> {
    const commands = new Commands();
    commands.#lines = await connectLines(path, {
      onMessage: (message) => commands.#take(message as Said),
      onEnd: (trouble) => commands.#end(trouble),
    });
    commands.#greet();
    return commands;
  }

  /** Returns the ID of the current boot once the guest's runner has answered. */
  ready(limitMs: number): Promise<string> {
    return this.#boot("the guest's runner", limitMs, () => true);
  }

  /** Returns the ID of the new boot once the guest has rebooted. */
  rebooted(since: string, limitMs: number): Promise<string> {
    return this.#boot("the guest to reboot", limitMs, (bootId) => bootId !== since);
  }

  run(script: string, { limitMs = RUN_MS }: RunOptions = {}): Promise<CommandResult> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const id = `${this.#session}-${this.#nextId++}`;
    const startedMs = performance.now();
    return new Promise((resolve, reject) => {
      let overdue = false;
      const settle = (act: () => void) => {
        clearTimeout(timer);
        this.#calls.delete(id);
        act();
      };
      const late = (said: string) =>
        new Error(`the guest did not end within ${limitMs} ms: ${script.slice(0, 200)}\n${said}`);
      const call: Call = {
        stdout: [],
        stderr: [],
        unsent: Buffer.from(script),
        resolve: (result) =>
          settle(() => (overdue ? reject(late(`${result.stdout}${result.stderr}`)) : resolve(result))),
        reject: (trouble) => settle(() => reject(trouble)),
      };
      const timer = setTimeout(() => {
        // A killed script ends and its output is reported; a guest that hangs does not even do that.
        overdue = true;
        this.#lines?.send({ kind: "kill", id });
        setTimeout(() => {
          const sinceMs = Math.round(performance.now() - startedMs);
          if (this.#calls.has(id)) call.reject(late(`it does not answer at all, after ${sinceMs} ms`));
        }, KILLED_MS).unref();
      }, limitMs);
      this.#calls.set(id, call);
      this.#sendScript(id, call);
    });
  }

  async close(): Promise<void> {
    await this.#lines?.close();
  }

  #greet(): void {
    const entropy = randomBytes(32).toString("base64");
    this.#lines?.send({ kind: "hello", session: this.#session, wallMs: Date.now(), data: entropy });
  }

  #sendScript(id: string, call: Call): void {
    const piece = call.unsent.subarray(0, PIECE_BYTES);
    call.unsent = call.unsent.subarray(PIECE_BYTES);
    const last = call.unsent.length === 0;
    this.#lines?.send({ kind: "script", id, data: piece.toString("base64"), last });
  }

  #take(said: Said): void {
    if (said.kind === "ready") return this.#takeReady(said);
    const call = this.#calls.get(said.id);
    if (call === undefined) return; // The call was abandoned, or is of another session.
    switch (said.kind) {
      case "ack":
        return this.#sendScript(said.id, call);
      case "output":
        call[said.stream].push(Buffer.from(said.data, "base64"));
        return this.#lines?.send({ kind: "ack", id: said.id });
      case "exit": {
        const stdout = Buffer.concat(call.stdout);
        const stderr = Buffer.concat(call.stderr);
        if (said.trouble !== undefined) return call.reject(new Error(`the guest cannot run a script: ${said.trouble}`));
        if (stdout.length !== said.stdoutBytes || stderr.length !== said.stderrBytes) {
          const came = `${stdout.length} and ${stderr.length} of ${said.stdoutBytes} and ${said.stderrBytes} bytes`;
          return call.reject(new Error(`output was lost on the way: ${came} came`));
        }
        return call.resolve({ code: said.code, stdout: stdout.toString(), stderr: stderr.toString() });
      }
    }
  }

  #takeReady({ session, bootId }: Extract<Said, { kind: "ready" }>): void {
    if (session !== this.#session) {
      // A runner that has just started knows neither earlier calls nor the current time.
      for (const call of this.#calls.values()) call.reject(new Error("the guest's runner restarted"));
      return this.#greet();
    }
    this.#bootId = bootId;
    for (const waiter of this.#boots) if (waiter.isIt(bootId)) waiter.settle();
  }

  #boot(what: string, limitMs: number, isIt: (bootId: string) => boolean): Promise<string> {
    const known = this.#bootId;
    if (known !== undefined && isIt(known)) return Promise.resolve(known);
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => waiter.settle(new Error(`waited ${limitMs} ms in vain for ${what}`)), limitMs);
      const waiter: BootWaiter = {
        isIt,
        settle: (trouble?: Error) => {
          clearTimeout(timer);
          this.#boots.delete(waiter);
          if (trouble === undefined) resolve(this.#bootId ?? "");
          else reject(trouble);
        },
      };
      this.#boots.add(waiter);
    });
  }

  #end(trouble: Error): void {
    this.#ended = new Error("the guest has ended", { cause: trouble });
    for (const call of this.#calls.values()) call.reject(this.#ended);
    for (const waiter of this.#boots) waiter.settle(this.#ended);
  }
}

const KILLED_MS = 5_000;

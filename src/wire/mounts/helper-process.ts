/**
 * One helper process. It has no timeout: its user kills it when it takes too long. It exits when its input closes, so
 * it never outlives an agent that was killed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { FinalReply, HelperReply, HelperRequest } from "./protocol.ts";

export interface HelperCommand {
  readonly file: string;
  readonly args: readonly string[];
}

export interface Helper {
  /** One request at a time. Rejects if the process ends before it has answered. */
  run(request: HelperRequest, onProgress: (files: number) => void): Promise<FinalReply>;
  /** Lets the process end by itself. It must be idle. */
  end(): void;
  /** Kills the process at once, with the tools it runs. A process that the kernel holds stays alive. */
  kill(): void;
  /** Resolves when the process is gone, and none of its tools that write to a disk is left. */
  readonly ended: Promise<void>;
}

interface Pending {
  readonly resolve: (reply: FinalReply) => void;
  readonly reject: (error: unknown) => void;
  readonly onProgress: (files: number) => void;
}

type Streams = readonly [input: Writable, output: Readable, lifeline: Readable];

export function startHelper({ file, args }: HelperCommand): Helper {
  // A working directory that nobody unmounts, and a separate session, so that signals of our terminal do not reach it.
  // Tools that outlive the helper hold the fourth stream too.
  const child = spawn(file, args, {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "pipe", "inherit", "pipe"],
    env: { ...process.env, LC_ALL: "C" },
  });
  const streams: Streams = [child.stdio[0] as Writable, child.stdio[1] as Readable, child.stdio[3] as Readable];
  return new HelperProcess(child, streams);
}

class HelperProcess implements Helper {
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #input: Writable;
  #pending: Pending | undefined;
  #text = "";

  constructor(child: ChildProcess, [input, output, lifeline]: Streams) {
    this.#child = child;
    this.#input = input;
    this.ended = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        this.#fail(new Error(`the volume helper ended with ${signal ?? code}`));
        resolve();
      });
      child.once("error", (error) => {
        this.#fail(error);
        if (child.pid === undefined) resolve(); // It never started.
      });
    });
    child.once("exit", (code, signal) => this.#fail(new Error(`the volume helper ended with ${signal ?? code}`)));
    input.on("error", (error) => this.#fail(error));
    output.setEncoding("utf8");
    output.on("data", (text: string) => this.#read(text));
    lifeline.resume();
    this.#hold(false);
  }

  run(request: HelperRequest, onProgress: (files: number) => void): Promise<FinalReply> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject, onProgress };
      this.#hold(true);
      this.#input.write(`${JSON.stringify(request)}\n`);
    });
  }

  end(): void {
    this.#input.end();
  }

  kill(): void {
    this.#hold(false);
    const { pid } = this.#child;
    if (pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      this.#child.kill("SIGKILL"); // It does not have its own process group yet.
    }
  }

  #read(text: string): void {
    const lines = (this.#text + text).split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      const reply = parseReply(line);
      if (reply !== undefined) this.#take(reply);
      else this.#refuse(line);
    }
  }

  /** A helper that sends one invalid reply may send another, so it gets no more requests. */
  #refuse(line: string): void {
    this.#fail(new Error(`the volume helper said ${JSON.stringify(line.slice(0, 200))}`));
    this.kill();
  }

  #take(reply: HelperReply): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    if (reply.kind === "progress") return pending.onProgress(reply.files);
    this.#pending = undefined;
    this.#hold(false);
    pending.resolve(reply);
  }

  #fail(error: Error): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.reject(error);
  }

  /** Only work in progress keeps the agent's process alive. */
  #hold(busy: boolean): void {
    const word = busy ? "ref" : "unref";
    this.#child[word]();
    for (const stream of this.#child.stdio) if (stream && word in stream) (stream as unknown as Holder)[word]();
  }
}

function parseReply(line: string): HelperReply | undefined {
  try {
    return JSON.parse(line) as HelperReply;
  } catch {
    return undefined;
  }
}

interface Holder {
  ref(): void;
  unref(): void;
}

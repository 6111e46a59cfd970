/**
 * A notification socket that replaces systemd's in tests: records each message of a service, with the sender's PID as
 * the kernel reports it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { command } from "../cluster/command.ts";

export interface Heard {
  readonly pid: number;
  readonly text: string;
  readonly atMs: number;
}

export interface NotifyListener {
  readonly socket: string;
  readonly heard: readonly Heard[];
  /** Number of times this text was received so far. */
  count(text: string): number;
  end(): Promise<void>;
}

export async function listenForNotices(directory: string): Promise<NotifyListener> {
  const program = join(directory, "notify-listener");
  await command("gcc", ["-O1", "-o", program, join(import.meta.dirname, "notify-listener.c")]);
  const socket = join(directory, "notify");
  const child = spawn(program, [socket], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const heard: Heard[] = [];
  const lines = createInterface(child.stdout);
  const [first] = (await once(lines, "line")) as [string];
  if (first !== "listening") throw new Error(`the listener said ${first}`);
  lines.on("line", (line) => {
    const [pid = "", ...words] = line.split(" ");
    heard.push({ pid: Number(pid), text: words.join(" "), atMs: performance.now() });
  });
  return {
    socket,
    heard,
    count: (text) => heard.filter((each) => each.text === text).length,
    end: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, test } from "node:test";
import { Commands } from "./commands.ts";
import { withSocket } from "./socket-peer.ts";

interface Heard {
  readonly kind: string;
  readonly id: string;
  readonly session?: string;
  readonly data?: string;
  readonly last?: boolean;
}

type Say = (message: object) => void;

/** A runner that passes each script to `act` and implements the rest of the protocol. */
const runner =
  (act: (script: string, say: Say, id: string) => void, bootId = () => "boot-1") =>
  (socket: Socket) => {
    const say: Say = (message) => socket.write(`${JSON.stringify(message)}\n`);
    let pending = "";
    let script = "";
    // The second half of a message to another connection.
    socket.write('kind":"output"}\n\n');
    say({ kind: "ready", bootId: bootId() });
    socket.on("data", (chunk: Buffer) => {
      const lines = `${pending}${chunk.toString()}`.split("\n");
      pending = lines.pop() ?? "";
      for (const line of lines) {
        const heard = JSON.parse(line) as Heard;
        if (heard.kind === "hello") say({ kind: "ready", session: heard.session, bootId: bootId() });
        if (heard.kind === "kill") say({ kind: "exit", id: heard.id, code: 137, stdoutBytes: 0, stderrBytes: 0 });
        if (heard.kind !== "script") continue;
        script += Buffer.from(heard.data ?? "", "base64").toString();
        if (heard.last !== true) say({ kind: "ack", id: heard.id });
        else act(script, say, heard.id);
      }
    });
  };

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("the commands of a guest", () => {
  test("a long script and its output arrive complete", () => {
    const long = "x".repeat(100_000);
    return withSocket(
      runner((script, say, id) => {
        for (let at = 0; at < script.length; at += 16_384) {
          say({ kind: "output", id, stream: "stdout", data: base64(script.slice(at, at + 16_384)) });
        }
        say({ kind: "output", id, stream: "stderr", data: base64("and this") });
        say({ kind: "exit", id, code: 3, stdoutBytes: script.length, stderrBytes: 8 });
      }),
      async (path) => {
        const commands = await Commands.connect(path);
        assert.equal(await commands.ready(5_000), "boot-1");
        assert.deepEqual(await commands.run(long), { code: 3, stdout: long, stderr: "and this" });
        await commands.close();
      },
    );
  });

  test("run rejects when output is lost", () =>
    withSocket(
      runner((_, say, id) => {
        say({ kind: "output", id, stream: "stdout", data: base64("half") });
        say({ kind: "exit", id, code: 0, stdoutBytes: 8, stderrBytes: 0 });
      }),
      async (path) => {
        const commands = await Commands.connect(path);
        await commands.ready(5_000);
        await assert.rejects(commands.run("echo"), /lost on the way: 4 and 0 of 8 and 0/);
        await commands.close();
      },
    ));

  test("calls fail when the guest reboots, and `rebooted` returns the new boot id", () => {
    let boot = "boot-1";
    return withSocket(
      runner(
        (_, say) => {
          boot = "boot-2";
          say({ kind: "ready", bootId: boot });
        },
        () => boot,
      ),
      async (path) => {
        const commands = await Commands.connect(path);
        const before = await commands.ready(5_000);
        const rebooted = commands.rebooted(before, 5_000);
        await assert.rejects(commands.run("reboot"), /restarted/);
        assert.equal(await rebooted, "boot-2");
        await commands.close();
      },
    );
  });

  test("a script that exceeds its limit is killed; a guest that ends fails the calls in progress", () =>
    withSocket(
      runner(() => {}),
      async (path) => {
        const commands = await Commands.connect(path);
        await commands.ready(5_000);
        await assert.rejects(commands.run("sleep", { limitMs: 30 }), /did not end within 30 ms/);
        const cut = assert.rejects(commands.run("sleep"), /the guest has ended/);
        await commands.close();
        await cut;
        await assert.rejects(commands.run("true"), /the guest has ended/);
        await assert.rejects(commands.rebooted("boot-1", 5_000), /the guest has ended/);
      },
    ));
});

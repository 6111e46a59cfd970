import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, test } from "node:test";
import { Qmp } from "./qmp.ts";
import { withSocket } from "./socket-peer.ts";

interface Asked {
  readonly execute: string;
  readonly id: number;
}

/** A monitor that answers the commands in the table, and no others. */
const monitor = (answers: Readonly<Record<string, (socket: Socket, id: number) => void>>) => (socket: Socket) => {
  socket.write('{"QMP": {"version": {}}}\r\n');
  socket.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().trim().split("\n")) {
      const { execute, id } = JSON.parse(line) as Asked;
      if (execute === "qmp_capabilities") socket.write(`${JSON.stringify({ return: {}, id })}\r\n`);
      answers[execute]?.(socket, id);
    }
  });
};

describe("the monitor of qemu", () => {
  test("each command gets its own answer, with events in between", () =>
    withSocket(
      monitor({
        first: (socket, id) => setTimeout(() => socket.write(`${JSON.stringify({ return: "one", id })}\n`), 20),
        second: (socket, id) => {
          const event = JSON.stringify({ event: "GONE", data: { device: "b" } });
          const text = `${event}\n${JSON.stringify({ return: "two", id })}\n`;
          // In pieces, as a socket may deliver it.
          socket.write(text.slice(0, 10), () => socket.write(text.slice(10)));
        },
      }),
      async (path) => {
        const qmp = await Qmp.connect(path);
        const gone = qmp.event("GONE", ({ device }) => device === "b", 5_000);
        assert.deepEqual(await Promise.all([qmp.execute("first"), qmp.execute("second")]), ["one", "two"]);
        await gone;
        await qmp.close();
      },
    ));

  test("a refused command, a missing answer and the end of qemu cause different errors", () =>
    withSocket(
      monitor({
        refused: (socket, id) =>
          socket.write(`${JSON.stringify({ error: { class: "GenericError", desc: "not so" }, id })}\n`),
        dies: (socket) => socket.destroy(),
      }),
      async (path) => {
        const qmp = await Qmp.connect(path);
        await assert.rejects(qmp.execute("refused"), /refused refused: not so/);
        await assert.rejects(qmp.execute("silent", {}, 50), /50 ms in vain/);
        await assert.rejects(qmp.execute("dies"), /qemu ended before/);
        await assert.rejects(qmp.execute("anything"), /closed from the other end/);
      },
    ));
});

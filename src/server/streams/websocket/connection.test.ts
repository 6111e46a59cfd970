import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { pause } from "../../../../test/cluster/wait.ts";
import { masked } from "../../../../test/support/websocket-client.ts";
import { WebSocketConnection } from "./connection.ts";
import { OPCODE, writeFrame } from "./frames.ts";

const [PING, BINARY_BEGIN, CONTINUATION, LAST] = [0x89, 0x02, 0x00, 0x80];

/** A client that reads only on `readAll`. */
class Client extends Duplex {
  readonly got: Buffer[] = [];
  #read = () => {};
  override _read(): void {}
  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.got.push(chunk);
    this.#read = done;
  }
  /** Resolves when everything written has been read. */
  async readAll(): Promise<void> {
    for (let last = -1; last !== this.got.length; ) {
      last = this.got.length;
      this.#read();
      await pause(1);
    }
  }
}

function connected() {
  const client = new Client();
  const messages: Buffer[] = [];
  const counts = { drained: 0 };
  const connection = new WebSocketConnection(client, {
    message: (data) => messages.push(data),
    drained: () => {
      counts.drained += 1;
    },
    ended: () => {},
  });
  return { client, connection, messages, counts };
}

void test("each ping of a client that reads is answered", async () => {
  const { client } = connected();
  for (const text of ["a", "b"]) {
    client.emit("data", masked(PING, Buffer.from(text)));
    await client.readAll();
  }
  assert.deepEqual(
    client.got,
    ["a", "b"].map((text) => writeFrame(OPCODE.pong, Buffer.from(text))),
  );
});

void test("pings of a client that does not read fill no memory, and the last is answered once it reads", async () => {
  const { client, counts } = connected();
  const pings = Buffer.concat(Array.from({ length: 5_000 }, () => masked(PING, Buffer.alloc(125, 1))));
  client.emit("data", pings);
  client.emit("data", masked(PING, Buffer.from("last")));
  assert.ok(client.writableLength < client.writableHighWaterMark + 256, `${client.writableLength} bytes are queued`);
  await client.readAll();
  assert.deepEqual(client.got.at(-1), writeFrame(OPCODE.pong, Buffer.from("last")));
  assert.ok(counts.drained > 0);
});

void test("a message in 3000 fragments is one message, and is held as one buffer", (t) => {
  const { client, messages } = connected();
  const parts = 3_000;
  const frames = Array.from({ length: parts }, () => masked(CONTINUATION, Buffer.from("x")));
  const [begin, end] = [masked(BINARY_BEGIN, Buffer.from("begin")), masked(LAST, Buffer.from("end"))];
  const joined = t.mock.method(Buffer, "concat");
  for (const frame of [begin, ...frames, end]) client.emit("data", frame);
  const most = Math.max(...joined.mock.calls.map(({ arguments: [list] }) => list.length));
  assert.ok(most < 10, `${most} parts were held one by one`);
  assert.deepEqual(
    messages.map((message) => message.toString()),
    [`begin${"x".repeat(parts)}end`],
  );
});

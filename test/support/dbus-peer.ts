/**
 * The server side of D-Bus on a test's own socket, without a bus: accepts every client and passes each call to the
 * test.
 */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { type DbusMessage, decodeMessage, encodeMessage, messageLength } from "../../src/wire/dbus/message.ts";
import type { DbusValue } from "../../src/wire/dbus/signature.ts";

export interface PeerCall {
  readonly member: string;
  readonly body: readonly DbusValue[];
  reply(signature: string, ...body: readonly DbusValue[]): void;
  fail(errorName: string, detail: string): void;
  signal(of: Omit<DbusMessage, "kind" | "serial">): void;
  /** Closes the connection without a reply. */
  hangUp(): void;
}

export interface Peer {
  close(): Promise<void>;
  /** Number of connections so far. */
  readonly connections: number;
}

export async function listenAsPeer(
  path: string,
  onCall: (call: PeerCall) => void,
  greeting = "OK 0123456789abcdef0123456789abcdef\r\n",
): Promise<Peer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {}); // The test closed the socket.
    socket.on("close", () => sockets.delete(socket));
    serve(socket, onCall, greeting);
  });
  server.listen(path);
  await once(server, "listening");
  return {
    get connections() {
      return connections;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

const BEGIN = "BEGIN\r\n";

function serve(socket: Socket, onCall: (call: PeerCall) => void, greeting: string): void {
  let received = Buffer.alloc(0);
  let [isGreeted, isBegun, serial] = [false, false, 0];
  const send = (message: Omit<DbusMessage, "serial">) => {
    serial += 1;
    socket.write(encodeMessage({ ...message, serial }));
  };
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (!isGreeted) socket.write(greeting);
    isGreeted = true;
    const begin = isBegun ? -1 : received.indexOf(BEGIN);
    if (begin !== -1) [isBegun, received] = [true, received.subarray(begin + BEGIN.length)];
    if (!isBegun) return;
    for (;;) {
      const length = messageLength(received);
      if (length === undefined || received.length < length) return;
      const { serial: replyTo, member = "", body } = decodeMessage(received.subarray(0, length)) as DbusMessage;
      received = received.subarray(length);
      onCall({
        member,
        body,
        reply: (signature, ...answer) =>
          send({ kind: "reply", replyTo, body: answer, ...(signature === "" ? {} : { signature }) }),
        fail: (errorName, detail) => send({ kind: "error", replyTo, errorName, signature: "s", body: [detail] }),
        signal: (of) => send({ kind: "signal", ...of }),
        hangUp: () => socket.destroy(),
      });
    }
  });
}

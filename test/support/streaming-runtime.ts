/**
 * A runtime's streaming server for tests: it accepts any upgrade, and speaks the server side of SPDY/3.1 as containerd
 * does.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { TestContext } from "node:test";
import { constants, inflateRawSync } from "node:zlib";
import { controlFrame, dataHead, SpdyReader, streamOf, TYPE } from "../../src/server/streams/spdy/frames.ts";
import { headerBlock, uint32 } from "../../src/server/streams/spdy/header-block.ts";
import { waitUntil } from "../cluster/wait.ts";

export interface StreamingRuntime {
  readonly url: string;
  /** Waits for the next upgraded connection. */
  next(): Promise<SpdyPeer>;
  readonly requests: readonly IncomingMessage[];
}

export interface RuntimeAnswers {
  /** The response in place of an upgrade. */
  readonly refuse?: { readonly status: number; readonly body: string; readonly location?: string };
  /** Newly opened streams wait for the test to call `reply`. */
  readonly slow?: boolean;
}

export async function streamingRuntime(
  t: TestContext,
  { refuse, slow = false }: RuntimeAnswers = {},
): Promise<StreamingRuntime> {
  const requests: IncomingMessage[] = [];
  const arrived: SpdyPeer[] = [];
  const sockets = new Set<Duplex>();
  const server = createServer();
  server.on("connection", (socket) => sockets.add(socket));
  server.on("upgrade", (request, socket, head) => {
    requests.push(request);
    if (refuse !== undefined) {
      const location = refuse.location === undefined ? "" : `Location: ${refuse.location}\r\n`;
      const length = Buffer.byteLength(refuse.body);
      socket.write(`HTTP/1.1 ${refuse.status} X\r\n${location}Content-Length: ${length}\r\n\r\n${refuse.body}`);
      return;
    }
    const protocol = request.headers["x-stream-protocol-version"];
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n` +
        `${protocol === undefined ? "" : `X-Stream-Protocol-Version: ${String(protocol).split(",")[0]}\r\n`}\r\n`,
    );
    arrived.push(new SpdyPeer(socket, head, !slow));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  let taken = 0;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    requests,
    next: async () => {
      await waitUntil("a connection to the runtime", 10_000, async () => arrived.length > taken);
      taken += 1;
      return arrived[taken - 1] as SpdyPeer;
    },
  };
}

interface PeerStream {
  readonly id: number;
  readonly headers: Readonly<Record<string, string>>;
  received: Buffer;
  finished: boolean;
}

export class SpdyPeer {
  readonly socket: Duplex;
  readonly streams = new Map<string, PeerStream>();
  /** All bytes received after the upgrade. */
  raw = Buffer.alloc(0);
  /** Set to false when the bytes are not SPDY. */
  speaks = true;
  closed = false;
  readonly #replies: boolean;
  readonly #reader = new SpdyReader();
  #deflated = Buffer.alloc(0);

  constructor(socket: Duplex, head: Buffer, replies: boolean) {
    this.socket = socket;
    this.#replies = replies;
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      this.closed = true;
    });
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    if (head.length > 0) this.#take(head);
  }

  async stream(name: string): Promise<PeerStream> {
    await waitUntil(`stream ${name}`, 10_000, async () => this.streams.has(name));
    return this.streams.get(name) as PeerStream;
  }

  reply(stream: PeerStream): void {
    this.socket.write(controlFrame(TYPE.synReply, uint32(stream.id), headerBlock({}, false)));
  }

  send({ id }: PeerStream, data: string | Uint8Array): void {
    const bytes = Buffer.from(data);
    this.socket.write(Buffer.concat([dataHead(id, bytes.length, false), bytes]));
  }

  finish({ id }: PeerStream): void {
    this.socket.write(dataHead(id, 0, true));
  }

  /** Resets the stream, as containerd's server does to end one. */
  reset({ id }: PeerStream): void {
    this.socket.write(controlFrame(TYPE.rstStream, uint32(id, 5)));
  }

  #take(chunk: Buffer): void {
    this.raw = Buffer.concat([this.raw, chunk]);
    if (!this.speaks) return;
    for (const event of this.#reader.read(chunk)) {
      if (event.kind === "control" && event.type === TYPE.synStream) this.#opened(event.payload);
      else if (event.kind !== "control") {
        const stream = [...this.streams.values()].find(({ id }) => id === event.stream);
        if (stream === undefined) continue;
        if (event.kind === "data") stream.received = Buffer.concat([stream.received, event.bytes]);
        else stream.finished = true;
      }
    }
  }

  #opened(payload: Buffer): void {
    const id = streamOf(payload);
    const before = inflated(this.#deflated).length;
    this.#deflated = Buffer.concat([this.#deflated, payload.subarray(10)]);
    const headers = parseHeaders(inflated(this.#deflated).subarray(before));
    const stream = { id, headers, received: Buffer.alloc(0), finished: false };
    this.streams.set(headers["streamtype"] ?? "", stream);
    if (this.#replies) this.reply(stream);
  }
}

/** Skips the six bytes of the zlib header, which are not deflated. */
const inflated = (bytes: Buffer) =>
  bytes.length === 0 ? bytes : inflateRawSync(bytes.subarray(6), { finishFlush: constants.Z_SYNC_FLUSH });

function parseHeaders(block: Buffer): Readonly<Record<string, string>> {
  let at = 4;
  const text = () => {
    const length = block.readUInt32BE(at);
    at += 4 + length;
    return block.subarray(at - length, at).toString("utf8");
  };
  return Object.fromEntries(Array.from({ length: block.readUInt32BE(0) }, () => [text(), text()]));
}

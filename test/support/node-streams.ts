/** Streams of a node's own API over TLS and WebSocket, opened without kubectl and without the API server. */
import { request } from "node:https";
import type { Socket } from "node:net";
import { waitUntil } from "../cluster/wait.ts";
import type { Identity } from "./test-certificates.ts";
import { masked, webSocket } from "./websocket-client.ts";

const BINARY = 0x82;
const CLOSE = 0x88;

export interface StreamQuestion {
  readonly host: string;
  readonly identity: Identity;
  readonly path: string;
}

const options = ({ host, identity, path }: StreamQuestion) => ({
  host,
  port: 10_250,
  path,
  cert: identity.certificatePem,
  key: identity.keyPem,
  rejectUnauthorized: false,
  agent: false as const,
});

/** Stream channels over one WebSocket. */
export class NodeStream {
  readonly #socket: Socket;
  #bytes: Buffer;

  private constructor(socket: Socket, head: Buffer) {
    this.#socket = socket;
    this.#bytes = head;
    socket.on("data", (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
    });
    socket.on("error", () => socket.destroy());
  }

  static open(question: StreamQuestion, protocol = "v5.channel.k8s.io"): Promise<NodeStream> {
    const headers = { Connection: "Upgrade", ...webSocket(protocol) };
    return new Promise((resolve, reject) => {
      const call = request({ ...options(question), headers });
      call.on("upgrade", (_answer, socket: Socket, head) => resolve(new NodeStream(socket, head)));
      call.on("response", (answer) => {
        answer.resume();
        reject(new Error(`${question.path}: ${answer.statusCode}`));
      });
      call.on("error", reject);
      call.end();
    });
  }

  send(channel: number, text: string): void {
    this.#socket.write(masked(BINARY, Buffer.concat([Buffer.of(channel), Buffer.from(text)])));
  }

  /** All bytes received so far, including frame headers. */
  get heard(): string {
    return this.#bytes.toString("latin1");
  }

  hears(text: string, limitMs = 60_000): Promise<void> {
    return waitUntil(`"${text}" from the pod`, limitMs, async () => this.heard.includes(text), 20);
  }

  /** Ends the stream like a client that closes it properly, or like one that disappears. */
  end(how: "politely" | "at once"): void {
    if (how === "politely") this.#socket.end(masked(CLOSE, Buffer.of(0x03, 0xe8)));
    else this.#socket.destroy();
  }
}

/** Opens an endless response, reads its first chunk, and disconnects. */
export function readAndLeave(question: StreamQuestion): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request(options(question), (answer) => {
      answer.once("data", (chunk: Buffer) => {
        resolve(chunk.length);
        call.destroy();
      });
      answer.once("end", () => reject(new Error(`${question.path} ended: ${answer.statusCode}`)));
      answer.on("error", () => undefined);
    });
    call.on("error", reject);
    call.end();
  });
}

/**
 * Translates a command's streams between a v5.channel.k8s.io WebSocket and the runtime's v4.channel.k8s.io SPDY
 * connection. The first byte of a WebSocket message names the channel; 255 followed by a channel closes that channel.
 * In SPDY each channel is a stream, and the server must reply to all of them before any data is sent.
 *
 * The client always gets a final status after the last byte of output; an unknown outcome is reported as a failure.
 */
import type { Duplex } from "node:stream";
import type { Clock } from "../../ports/clock.ts";
import type { StreamOptions } from "../../ports/runtime.ts";
import { STREAM_STATUS_BYTES_MAX } from "../limits.ts";
import type { Upgraded } from "./dial-runtime.ts";
import { type Ended, failed, readEnd, statusText } from "./exit-status.ts";
import { LINGER_MS, whenClosed } from "./proxy-streams.ts";
import { ResizeReader } from "./resize.ts";
import type { StreamSession } from "./sessions.ts";
import { SpdyConnection } from "./spdy/connection.ts";
import { WebSocketConnection } from "./websocket/connection.ts";
import { CLOSE } from "./websocket/frames.ts";

const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
type ChannelName = keyof typeof CHANNEL;
const CLOSE_CHANNEL = 255;
const CHANNELS = 5;
const REPLY_MS_MAX = 30_000;
/** A write detects a client that is gone, even while nothing is read from it. */
const PING_MS = 30_000;

export interface RemoteCommand {
  readonly client: Duplex;
  /** Resolves with an upgraded connection to the runtime, or rejects with the reason for the failure. */
  readonly dial: () => Promise<Upgraded>;
  readonly options: StreamOptions;
  readonly session: StreamSession;
  readonly clock: Clock;
}

export async function translateCommand(parts: RemoteCommand): Promise<void> {
  await new Translation(parts).run();
}

class Translation {
  readonly #parts: RemoteCommand;
  readonly #ws: WebSocketConnection;
  readonly #resize = new ResizeReader();
  readonly #streams = new Map<ChannelName, number>();
  readonly #names = new Map<number, ChannelName>();
  readonly #unreplied = new Set<number>();
  readonly #unfinished = new Set<ChannelName>();
  readonly #status: Buffer[] = [];
  #statusBytes = 0;
  #spdy: SpdyConnection | undefined;
  #runtime: Duplex | undefined;
  #over = false;
  #cancelLinger = () => {};
  #cancelPing = () => {};
  #cancelReply = () => {};

  constructor(parts: RemoteCommand) {
    this.#parts = parts;
    this.#ws = new WebSocketConnection(parts.client, {
      message: (data) => this.#fromClient(data),
      drained: () => this.#spdy?.resume(),
      ended: () => this.#clientGone(),
    });
    this.#ws.pause();
  }

  async run(): Promise<void> {
    const { client, session, options, dial } = this.#parts;
    const closed = whenClosed(client);
    const destroy = () => {
      this.#runtime?.destroy();
      client.destroy();
    };
    session.cut.addEventListener("abort", destroy, { once: true });
    if (session.cut.aborted) destroy();
    this.#keepPinging();
    // An empty message on the first output channel signals a successful start.
    const first = options.stdout ? CHANNEL.stdout : options.stderr ? CHANNEL.stderr : CHANNEL.error;
    this.#ws.send(Buffer.from([first]));
    try {
      const { socket, head } = await dial();
      this.#runtime = socket;
      if (client.destroyed) socket.destroy();
      else this.#openStreams(socket, head);
    } catch (error) {
      session.end("failed");
      this.#finish(failed(error instanceof Error ? error.message : String(error)));
    }
    await closed;
    if (this.#runtime !== undefined) await whenClosed(this.#runtime);
    session.cut.removeEventListener("abort", destroy);
    this.#cancelPing();
    this.#cancelReply();
    this.#cancelLinger();
  }

  #openStreams(socket: Duplex, head: Buffer): void {
    const { options, clock } = this.#parts;
    const spdy = new SpdyConnection(socket, {
      replied: (stream) => this.#replied(stream),
      data: (stream, bytes) => this.#fromRuntime(stream, bytes),
      finished: (stream) => this.#finished(stream),
      drained: () => this.#hearClient(),
      ended: (fault) => this.#runtimeGone(fault),
    });
    this.#spdy = spdy;
    const { stdin, stdout, stderr, tty } = options;
    const wanted = { error: true, stdin, stdout, stderr, resize: tty };
    for (const name of ["error", "stdin", "stdout", "stderr", "resize"] as const) {
      if (!wanted[name]) continue;
      const stream = spdy.open({ streamtype: name });
      this.#streams.set(name, stream);
      this.#names.set(stream, name);
      this.#unreplied.add(stream);
      if (name === "error" || name === "stdout" || name === "stderr") this.#unfinished.add(name);
    }
    this.#cancelReply = clock.after(REPLY_MS_MAX, () =>
      this.#runtimeGone(new Error("no reply to a new stream in time")),
    );
    if (head.length > 0) socket.unshift(head);
    socket.resume();
  }

  #replied(stream: number): void {
    this.#unreplied.delete(stream);
    this.#hearClient();
  }

  #hearClient(): void {
    if (this.#unreplied.size > 0) return;
    this.#cancelReply();
    this.#ws.resume();
  }

  #fromClient(data: Buffer): void {
    this.#parts.session.active(data.length);
    const [channel] = data;
    if (channel === undefined || this.#over) return;
    if (channel === CLOSE_CHANNEL) this.#closeChannel(data);
    else if (channel === CHANNEL.stdin) this.#say("stdin", data.subarray(1));
    else if (channel === CHANNEL.resize) {
      const size = this.#resize.read(data.subarray(1));
      if (size !== undefined) this.#say("resize", Buffer.from(`${JSON.stringify(size)}\n`));
    }
  }

  #say(name: "stdin" | "resize", bytes: Buffer): void {
    const stream = this.#streams.get(name);
    if (stream === undefined || bytes.length === 0) return;
    if (this.#spdy?.write(stream, bytes) === false) this.#ws.pause();
  }

  #closeChannel(data: Buffer): void {
    const channel = data[1];
    if (data.length !== 2 || channel === undefined || channel >= CHANNELS) {
      this.#ws.close(CLOSE.protocolError);
      return this.#clientGone();
    }
    if (channel !== CHANNEL.stdin) return;
    const stdin = this.#streams.get("stdin");
    this.#streams.delete("stdin");
    if (stdin !== undefined) this.#spdy?.finish(stdin);
  }

  #fromRuntime(stream: number, bytes: Buffer): void {
    this.#parts.session.active(bytes.length);
    const name = this.#names.get(stream);
    if (this.#over || name === undefined) return;
    if (name === "error") return this.#keepStatus(bytes);
    if (name !== "stdout" && name !== "stderr") return;
    if (!this.#ws.send(Buffer.from([CHANNEL[name]]), bytes)) this.#spdy?.pause();
  }

  #keepStatus(bytes: Buffer): void {
    this.#statusBytes += bytes.length;
    if (this.#statusBytes > STREAM_STATUS_BYTES_MAX) return this.#runtimeGone(new Error("the status is too long"));
    this.#status.push(Buffer.from(bytes));
  }

  #finished(stream: number): void {
    const name = this.#names.get(stream);
    if (name === undefined || this.#over) return;
    // The command accepts no more input: later input is dropped.
    if (name === "stdin") this.#streams.delete("stdin");
    this.#unfinished.delete(name);
    if (this.#unfinished.size > 0) return;
    this.#parts.session.end("runtime");
    this.#finish(readEnd(Buffer.concat(this.#status)));
  }

  #runtimeGone(fault: Error | undefined): void {
    if (this.#over) return;
    this.#parts.session.end("failed");
    // A received status is valid even if the connection broke right after it.
    const said = this.#status.length > 0 ? readEnd(Buffer.concat(this.#status)) : undefined;
    this.#finish(said ?? failed(fault?.message ?? "the connection to the runtime was lost before the command ended"));
  }

  #finish(end: Ended): void {
    if (this.#over) return;
    this.#over = true;
    this.#spdy?.close();
    this.#ws.send(Buffer.from([CHANNEL.error]), Buffer.from(statusText(end)));
    this.#ws.close(CLOSE.normal, () => this.#linger());
  }

  #clientGone(): void {
    this.#parts.session.end("client");
    if (!this.#over) {
      this.#over = true;
      this.#spdy?.close();
    }
    this.#linger();
  }

  /** Both sides know about the end; a side that does not close in time is closed. */
  #linger(): void {
    const { clock, client } = this.#parts;
    this.#cancelLinger();
    if (client.closed) {
      this.#runtime?.destroy();
      return;
    }
    this.#cancelLinger = clock.after(LINGER_MS, () => {
      client.destroy();
      this.#runtime?.destroy();
    });
  }

  #keepPinging(): void {
    this.#cancelPing = this.#parts.clock.after(PING_MS, () => {
      this.#ws.ping();
      this.#keepPinging();
    });
  }
}

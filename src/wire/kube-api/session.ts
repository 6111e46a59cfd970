/**
 * One HTTP/2 connection. It takes requests from the server's first SETTINGS until it drains (GOAWAY, new credentials, a
 * renewal) or breaks. Open requests may then finish, or are rejected. Nothing of it is left once `closed` resolves.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
  type Settings,
} from "node:http2";
import type { Socket } from "node:net";
import { type SecureContext, connect as startTls } from "node:tls";
import { assert } from "../../base/assert.ts";
import type { Clock } from "../../ports/clock.ts";
import { type Proxy, serverNaming } from "./connection.ts";
import { Heartbeat } from "./heartbeat.ts";
import { openTunnel } from "./proxy-tunnel.ts";

export interface SessionOptions {
  readonly url: string;
  readonly serverName: string | undefined;
  /** Whether the server must prove its identity. */
  readonly verifiesServer: boolean;
  readonly proxy: Proxy | undefined;
  readonly secureContext: SecureContext;
  readonly clock: Clock;
  readonly connectLimitMs: number;
  readonly pingEveryMs: number;
  readonly pingLimitMs: number;
}

/** Large enough for a list over a connection with a long delay; costs nothing until used. */
const STREAM_WINDOW_BYTES = 2 ** 20;
const CONNECTION_WINDOW_BYTES = 2 ** 24;
/** Node refuses new streams above this, counting data queued for sending: a hundred objects of the largest size fit. */
const SESSION_MEMORY_MB = 256;
/** Stream numbers end at 2^31 and are never reused: another connection takes over long before that. */
const STREAMS_EVER_MAX = 2 ** 20;

export class Session {
  /** Resolves when requests can be sent; rejects if the connection broke before that. */
  readonly ready: Promise<void>;
  readonly closed: Promise<void>;
  /** Undefined while the proxy has not answered. */
  #http2: ClientHttp2Session | undefined;
  readonly #refuse: (why: Error) => void;
  readonly #finish: () => void;
  readonly #cancelLimit: () => void;
  /** Aborts while the proxy has not answered. */
  readonly #dialing = new AbortController();
  #heartbeat: Heartbeat | undefined;
  #state: "connecting" | "open" | "draining" | "ended" = "connecting";
  #streamsOpen = 0;
  #streamsEver = 0;
  #streamsMax = 0;
  #failure: Error | undefined;
  #lastStreamId = Number.POSITIVE_INFINITY;

  constructor(options: SessionOptions) {
    const { promise: ready, resolve: openUp, reject: refuse } = Promise.withResolvers<void>();
    const { promise: closed, resolve: finish } = Promise.withResolvers<void>();
    this.ready = ready;
    this.closed = closed;
    this.#refuse = refuse;
    this.#finish = finish;
    ready.catch(() => {}); // Waiting callers see the rejection; often nobody waits.

    this.#cancelLimit = options.clock.after(options.connectLimitMs, () =>
      this.destroy(new Error(`no connection within ${options.connectLimitMs} ms`)),
    );
    if (options.proxy === undefined) this.#start(options, undefined, openUp);
    else {
      openTunnel(options.proxy, new URL(options.url), this.#dialing.signal)
        .then((socket) => (this.#state === "ended" ? socket.destroy() : this.#start(options, socket, openUp)))
        .catch((error: Error) => this.destroy(error));
    }
  }

  get streamsOpen(): number {
    return this.#streamsOpen;
  }

  /** Whether one more request can be sent now. */
  get hasRoom(): boolean {
    return this.takesRequests && this.#streamsOpen < this.#streamsMax;
  }

  /** Whether the connection is open for new requests, apart from its limit of streams. */
  get takesRequests(): boolean {
    const isAlive = this.#http2?.closed === false && !this.#http2.destroyed;
    return isAlive && this.#state === "open" && this.#heartbeat?.doubted !== true;
  }

  /** Why the connection broke. */
  get failure(): Error {
    return this.#failure ?? new Error("the connection was closed");
  }

  /** Call only while `hasRoom`. Throws if the connection broke in this very moment; nothing was sent then. */
  request(headers: OutgoingHttpHeaders, endStream: boolean): ClientHttp2Stream {
    assert(this.#http2 !== undefined, "a request on a connection that is not open");
    const stream = this.#http2.request(headers, { endStream });
    this.#streamsOpen += 1;
    this.#streamsEver += 1;
    if (this.#streamsEver === STREAMS_EVER_MAX) this.drain();
    stream.once("close", () => {
      this.#streamsOpen -= 1;
      this.#endIfDrained();
    });
    return stream;
  }

  /** Whether the server certainly never processed this stream: it was not sent, or the server said so. */
  neverSaw(stream: ClientHttp2Stream): boolean {
    return (
      stream.id === undefined || stream.id > this.#lastStreamId || stream.rstCode === constants.NGHTTP2_REFUSED_STREAM
    );
  }

  heard(): void {
    this.#heartbeat?.heard();
  }

  doubt(): void {
    this.#heartbeat?.doubt();
  }

  /** Speaks HTTP/2 over the tunnel, or over a connection of its own. */
  #start(options: SessionOptions, tunnel: Socket | undefined, openUp: () => void): void {
    const { url, secureContext, serverName, verifiesServer } = options;
    const tls = {
      secureContext,
      rejectUnauthorized: verifiesServer, // Regardless of the environment.
      ...serverNaming(new URL(url), serverName),
    };
    const http2 = connect(url, {
      ...tls,
      maxSessionMemory: SESSION_MEMORY_MB,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      ...(tunnel === undefined
        ? {}
        : {
            createConnection: () => startTls({ ...tls, socket: tunnel, ALPNProtocols: ["h2"] }),
          }),
    });
    this.#http2 = http2;
    http2.on("remoteSettings", ({ maxConcurrentStreams }: Settings) => {
      this.#streamsMax = maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
      if (this.#state !== "connecting") return;
      this.#cancelLimit();
      http2.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      this.#state = "open";
      this.#heartbeat = this.#startHeartbeat(options);
      openUp();
    });
    http2.on("goaway", (_code: number, lastStreamId: number) => {
      this.#lastStreamId = lastStreamId;
      this.drain();
    });
    http2.on("error", (error: Error) => {
      this.#failure ??= error;
    });
    http2.on("close", () => this.#end());
  }

  #end(): void {
    this.#cancelLimit();
    this.#heartbeat?.stop();
    this.#state = "ended";
    this.#refuse(this.failure);
    this.#finish();
  }

  /** Takes no new requests; ends with the last open one. */
  drain(): void {
    if (this.#state === "connecting") this.destroy(new Error("replaced before it was of use"));
    if (this.#state === "open") this.#state = "draining";
    this.#endIfDrained();
  }

  destroy(reason: Error): void {
    this.#failure ??= reason;
    this.#heartbeat?.stop();
    this.#state = "ended";
    this.#dialing.abort(this.#failure);
    if (this.#http2 === undefined) this.#end();
    else this.#http2.destroy(this.#failure);
  }

  #endIfDrained(): void {
    // Not http2's own close(): it waits for the peer to hang up, which a half-open peer never does.
    if (this.#state === "draining" && this.#streamsOpen === 0) this.#http2?.destroy();
  }

  #ping(answered: () => void): void {
    const callback = (error: Error | null) => {
      if (error === null) answered();
    };
    if (this.#http2 === undefined || this.#http2.destroyed) return;
    // After a GOAWAY Node sends no more pings, though a watch may stay for minutes. Send SETTINGS, which the peer must
    // answer as well.
    if (this.#http2.closed) this.#http2.settings({}, callback);
    else this.#http2.ping(callback);
  }

  #startHeartbeat({ clock, pingEveryMs, pingLimitMs }: SessionOptions): Heartbeat {
    return new Heartbeat({
      clock,
      everyMs: pingEveryMs,
      limitMs: pingLimitMs,
      ping: (answered) => this.#ping(answered),
      onDead: (silentMs) => this.destroy(new Error(`the connection was silent for ${Math.round(silentMs)} ms`)),
    });
  }
}

/**
 * Assigns requests to connections. The oldest connection with a free stream takes the next request. If none has one, a
 * new connection is opened, once for all requests that wait. A connection that broke, drains or is in doubt gets no new
 * requests.
 */
import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import type { SecureContext } from "node:tls";
import { raceAbort } from "../../concurrency/abort.ts";
import { Session, type SessionOptions } from "./session.ts";

export interface OpenStream {
  readonly session: Session;
  readonly stream: ClientHttp2Stream;
}

export class SessionPool {
  #options: SessionOptions;
  readonly #sessions = new Set<Session>();
  #connecting: Session | undefined;
  #closed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get sessionsOpen(): number {
    return this.#sessions.size;
  }

  get streamsOpen(): number {
    return [...this.#sessions].reduce((sum, session) => sum + session.streamsOpen, 0);
  }

  /** Rejects with the signal's reason, or with the reason why no connection could be opened; nothing was sent then. */
  async open(headers: OutgoingHttpHeaders, endStream: boolean, signal: AbortSignal): Promise<OpenStream> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#closed) throw new Error("the client was closed");
      // No await between finding a free stream and taking it: nothing else may run in between.
      const session = [...this.#sessions].find((candidate) => candidate.hasRoom);
      if (session !== undefined) return { session, stream: session.request(headers, endStream) };
      this.#connecting ??= this.#connect();
      const { ready } = this.#connecting;
      const options = this.#options;
      try {
        await raceAbort(ready, signal);
      } catch (error) {
        // Ignore the failure of a connection with old credentials: it does not concern the caller.
        if (signal.aborted || options === this.#options) throw error;
      }
    }
  }

  /** New requests use connections with these credentials; requests on old connections may finish. */
  replace(secureContext: SecureContext): void {
    this.#options = { ...this.#options, secureContext };
    this.#connecting = undefined;
    for (const session of this.#sessions) session.drain();
  }

  /** Like `replace`, with the current credentials. A connection that is still being opened is new already. */
  renew(): void {
    for (const session of this.#sessions) if (session !== this.#connecting) session.drain();
  }

  async close(): Promise<void> {
    this.#closed = true;
    const sessions = [...this.#sessions];
    for (const session of sessions) session.destroy(new Error("the client was closed"));
    await Promise.all(sessions.map((session) => session.closed));
  }

  #connect(): Session {
    const session = new Session(this.#options);
    this.#sessions.add(session);
    const settled = () => {
      if (this.#connecting === session) this.#connecting = undefined;
    };
    session.ready.then(settled, settled);
    void session.closed.then(() => this.#sessions.delete(session));
    return session;
  }
}

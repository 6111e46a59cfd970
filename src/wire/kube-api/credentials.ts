/**
 * The value of the Authorization header. A token file is checked at most once a second, when a request is made. It is
 * read when it changed, after a minute at the latest, and immediately when the server rejected its token. The token is
 * never part of any message.
 */
import { readFile, stat } from "node:fs/promises";
import type { Clock } from "../../ports/clock.ts";
import type { Credentials } from "./connection.ts";

const LOOK_EVERY_MS = 1000;
const READ_EVERY_MS = 60_000;

export interface Authenticator {
  /** Undefined if the connection itself authenticates us. */
  authorization(): Promise<string | undefined>;
  /** Called after a 401: returns whether there is a new token to try. */
  renew(): Promise<boolean>;
}

/** Undefined while there are no credentials yet. */
export function authenticatorFor(credentials: Credentials, clock: Clock): Authenticator | undefined {
  switch (credentials.kind) {
    case "tokenFile":
      return new TokenFile(credentials.path, clock);
    case "token": {
      const header = `Bearer ${credentials.token}`;
      return { authorization: () => Promise.resolve(header), renew: () => Promise.resolve(false) };
    }
    case "awaited":
      return undefined;
    case "certificate":
    case "anonymous":
      return { authorization: () => Promise.resolve(undefined), renew: () => Promise.resolve(false) };
  }
}

class TokenFile implements Authenticator {
  readonly #path: string;
  readonly #clock: Clock;
  #header: string | undefined;
  #identity = "";
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  async authorization(): Promise<string> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#header === undefined) return this.#read();
    if (nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return this.#header;
    this.#lookedAtMs = nowMs;
    try {
      const stale = nowMs - this.#readAtMs >= READ_EVERY_MS || (await this.#identityNow()) !== this.#identity;
      return stale ? await this.#read() : this.#header;
    } catch {
      // The file may be missing for a moment while it is replaced. Keep the old token for as long as the server accepts
      // it; after that `renew` reads again and lets the failure through.
      return this.#header;
    }
  }

  async renew(): Promise<boolean> {
    const before = this.#header;
    return (await this.#read()) !== before;
  }

  async #read(): Promise<string> {
    const nowMs = this.#clock.monotonicMs();
    const identity = await this.#identityNow(); // Before the content: the next check finds a later change.
    const token = (await readFile(this.#path, "utf8")).trim();
    if (token === "") throw new Error(`the token file ${this.#path} is empty`);
    this.#header = `Bearer ${token}`;
    this.#identity = identity;
    this.#lookedAtMs = nowMs;
    this.#readAtMs = nowMs;
    return this.#header;
  }

  async #identityNow(): Promise<string> {
    const { ino, size, mtimeMs } = await stat(this.#path);
    return `${ino} ${size} ${mtimeMs}`;
  }
}

/**
 * What goes into the Authorization header. A token file is looked at once a second while requests are made, read when it
 * changed and at the latest after a minute, and at once when the server refused what it held. Never part of any message.
 */
import { readFile, stat } from "node:fs/promises";
import type { Clock } from "../../ports/clock.ts";
import type { Credentials } from "./connection.ts";

const LOOK_EVERY_MS = 1000;
const READ_EVERY_MS = 60_000;

export interface Authenticator {
  /** Undefined where the connection itself says who we are. */
  authorization(): Promise<string | undefined>;
  /** After a 401: whether there is something new to try. */
  renew(): Promise<boolean>;
}

/** Undefined while the credentials are yet to come. */
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
      // The file may be missing for a moment while it is replaced. The old token goes on for as long as the server takes it;
      // once it does not, `renew` reads again and lets the failure through.
      return this.#header;
    }
  }

  async renew(): Promise<boolean> {
    const before = this.#header;
    return (await this.#read()) !== before;
  }

  async #read(): Promise<string> {
    const nowMs = this.#clock.monotonicMs();
    const identity = await this.#identityNow(); // Before the content: a change in between is then found at the next look.
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

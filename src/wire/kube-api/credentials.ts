/**
 * The value of the Authorization header. A token file is checked at most once a second, when a request is made. It is
 * read when it changed, after a minute at the latest, and immediately when the server rejected its token. The token is
 * never part of any message.
 */
import { readFile, stat } from "node:fs/promises";
import { assert } from "../../base/assert.ts";
import type { PluginCredentials } from "../../domain/identity/exec-credential.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Credentials } from "./connection.ts";
import type { PluginCredentialSource } from "./plugin-credentials.ts";

const LOOK_EVERY_MS = 1000;
const READ_EVERY_MS = 60_000;

export interface Authorization {
  /** Undefined if the connection itself authenticates us. */
  readonly header: string | undefined;
  /** What a credential plugin returned. */
  readonly credentials?: PluginCredentials;
}

export interface Authenticator {
  authorization(): Promise<Authorization>;
  /** Called after a 401 of a request with this authorization: returns whether there is another one to try. */
  renew(rejected: Authorization | undefined): Promise<boolean>;
}

type Certificate = Extract<Credentials, { readonly kind: "certificate" }>;

export interface AuthenticatorParts {
  readonly clock: Clock;
  /** Of the plugin in the credentials, shared by all clients. */
  readonly source: PluginCredentialSource | undefined;
  /** The certificate that connections are to present from now on. Called before `authorization` resolves. */
  readonly onCertificate: (certificate: Certificate | { readonly kind: "anonymous" } | undefined) => void;
}

/** Undefined while there are no credentials yet. */
export function authenticatorFor(credentials: Credentials, parts: AuthenticatorParts): Authenticator | undefined {
  switch (credentials.kind) {
    case "tokenFile":
      return new TokenFile(credentials.path, parts.clock);
    case "token": {
      const header = `Bearer ${credentials.token}`;
      return { authorization: () => Promise.resolve({ header }), renew: () => Promise.resolve(false) };
    }
    case "exec":
      assert(parts.source !== undefined, "an exec plugin without a source of its credentials");
      return new Plugin(parts.source, parts.onCertificate);
    case "awaited":
      return undefined;
    case "certificate":
    case "anonymous":
      return { authorization: () => Promise.resolve({ header: undefined }), renew: () => Promise.resolve(false) };
  }
}

class Plugin implements Authenticator {
  readonly #source: PluginCredentialSource;
  readonly #onCertificate: AuthenticatorParts["onCertificate"];
  #last: PluginCredentials | undefined;

  constructor(source: PluginCredentialSource, onCertificate: AuthenticatorParts["onCertificate"]) {
    this.#source = source;
    this.#onCertificate = onCertificate;
  }

  async authorization(): Promise<Authorization> {
    const credentials = await this.#source.credentials();
    const { certificate, token } = credentials;
    if (credentials !== this.#last) {
      this.#onCertificate(certificate === undefined ? undefined : { kind: "certificate", ...certificate });
    }
    this.#last = credentials;
    return { header: token === undefined ? undefined : `Bearer ${token}`, credentials };
  }

  renew(rejected: Authorization | undefined): Promise<boolean> {
    return this.#source.renew(rejected?.credentials);
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

  async authorization(): Promise<Authorization> {
    return { header: await this.#current() };
  }

  async #current(): Promise<string> {
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

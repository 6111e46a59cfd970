/** A client of a node's own API, with any identity. */

import { type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from "node:http";
import { Agent, request } from "node:https";
import type { Identity } from "./test-certificates.ts";

const SILENCE_MS_MAX = 60_000;

export interface Said {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

export interface CallerOptions {
  readonly host: string;
  readonly port: number;
  readonly identity?: Identity | undefined;
  readonly token?: string | undefined;
}

export class NodeCaller implements Disposable {
  readonly #options: CallerOptions;
  readonly #agent: Agent;

  constructor(options: CallerOptions) {
    this.#options = options;
    const { identity } = options;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: 4,
      rejectUnauthorized: false,
      ...(identity === undefined ? {} : { cert: identity.certificatePem, key: identity.keyPem }),
    });
  }

  /** Sends a request. Like other clients, retries once when a reused connection was closed during the request. */
  async ask(path: string, method = "GET", headers: Readonly<Record<string, string>> = {}, body = ""): Promise<Said> {
    return (
      (await this.#askOnce(path, method, headers, body)) ?? (await this.#askOnce(path, method, headers, body)) ?? gone()
    );
  }

  #askOnce(
    path: string,
    method: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<Said | undefined> {
    const { host, port, token } = this.#options;
    const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    return new Promise((resolve, reject) => {
      const call = request(
        { host, port, path, method, agent: this.#agent, headers: { ...authorization, ...headers } },
        (response) => void heard(response).then(resolve, reject),
      );
      call.on("error", (error: NodeJS.ErrnoException) =>
        call.reusedSocket && error.code === "ECONNRESET" ? resolve(undefined) : reject(error),
      );
      call.setTimeout(SILENCE_MS_MAX, () => call.destroy(new Error(`no answer to ${method} ${path}`)));
      call.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

function gone(): never {
  throw new Error("two connections were closed during their requests");
}

/** Sends a request over plain HTTP. */
export function askPlainly(
  url: string,
  method = "GET",
  headers: Readonly<Record<string, string>> = {},
  body = "",
  /** Unless given, the path of `url`, normalized as URLs are. */
  path?: string,
): Promise<Said> {
  return new Promise((resolve, reject) => {
    const call = plainRequest(
      url,
      { method, agent: false, headers, ...(path === undefined ? {} : { path }) },
      (response) => void heard(response).then(resolve, reject),
    );
    call.on("error", reject);
    call.end(body);
  });
}

async function heard(response: IncomingMessage): Promise<Said> {
  const chunks = (await response.toArray()) as readonly Buffer[];
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString(), headers: response.headers };
}

/**
 * Sends one plain request to an API server, to find out whether it answers these credentials at all. It keeps no
 * connection and retries nothing, and any status is an answer.
 */
import { request } from "node:https";
import type { Clock } from "../../ports/clock.ts";
import { API_ANSWER_BYTES_MAX } from "../limits.ts";
import type { Connection } from "./connection.ts";
import { authenticatorFor } from "./credentials.ts";

export interface PlainAnswer {
  readonly status: number;
  /** Undefined: the body is not JSON. */
  readonly body: unknown;
  /** By the server's clock, to the second. */
  readonly dateWallMs: number | undefined;
}

export async function oneShotRequest(
  connection: Connection,
  path: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<PlainAnswer> {
  const { ca, credentials } = connection;
  const authorization = await authenticatorFor(credentials, clock)?.authorization();
  const url = new URL(`${connection.url.replace(/\/$/, "")}${path}`);
  const { promise, resolve, reject } = Promise.withResolvers<PlainAnswer>();
  const asked = request(url, {
    agent: false,
    signal,
    ca,
    minVersion: "TLSv1.2",
    ...(credentials.kind === "certificate" ? { cert: credentials.certificatePem, key: credentials.keyPem } : {}),
    ...(connection.serverName === undefined ? {} : { servername: connection.serverName }),
    headers: { accept: "application/json", ...(authorization === undefined ? {} : { authorization }) },
  });
  asked.on("error", (error) => reject(signal.aborted ? (signal.reason as Error) : error));
  asked.on("response", (response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > API_ANSWER_BYTES_MAX)
        asked.destroy(new Error(`${path}: the answer is longer than ${API_ANSWER_BYTES_MAX} bytes`));
      else chunks.push(chunk);
    });
    response.on("error", reject);
    response.on("end", () => {
      const dateWallMs = Date.parse(response.headers.date ?? "");
      resolve({
        status: response.statusCode ?? 0,
        body: parsed(Buffer.concat(chunks).toString("utf8")),
        dateWallMs: Number.isNaN(dateWallMs) ? undefined : dateWallMs,
      });
    });
  });
  asked.end();
  return promise;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // Something in front of the server answered.
  }
}

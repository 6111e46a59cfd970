/**
 * Sends one plain request to an API server, to find out whether it answers these credentials at all. It keeps no
 * connection and retries nothing, and any status is an answer.
 */
import { request } from "node:https";
import { connect as startTls } from "node:tls";
import type { Clock } from "../../ports/clock.ts";
import { API_ANSWER_BYTES_MAX } from "../limits.ts";
import { type Connection, type Credentials, serverNaming } from "./connection.ts";
import { authenticatorFor } from "./credentials.ts";
import { openTunnel } from "./proxy-tunnel.ts";
import { execPluginRunner } from "./run-exec-plugin.ts";

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
  const { ca, proxy } = connection;
  const { authorization, certificate } = await identityOf(connection.credentials, clock, signal);
  const url = new URL(`${connection.url.replace(/\/$/, "")}${path}`);
  const tls = {
    ca,
    minVersion: "TLSv1.2" as const,
    rejectUnauthorized: connection.isInsecure !== true,
    ...(certificate === undefined ? {} : { cert: certificate.certificatePem, key: certificate.keyPem }),
    ...serverNaming(url, connection.serverName),
  };
  const tunnel = proxy === undefined ? undefined : await openTunnel(proxy, url, signal);
  const { promise, resolve, reject } = Promise.withResolvers<PlainAnswer>();
  const asked = request(url, {
    // An agent would ignore the tunnel and connect by itself.
    ...(tunnel === undefined ? { agent: false } : { createConnection: () => startTls({ ...tls, socket: tunnel }) }),
    signal,
    ...tls,
    headers: { accept: "application/json", ...(authorization === undefined ? {} : { authorization }) },
  });
  asked.on("error", (error) => reject(signal.aborted ? (signal.reason as Error) : error));
  asked.on("close", () => tunnel?.destroy());
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

interface Identity {
  readonly authorization: string | undefined;
  readonly certificate: { readonly certificatePem: string; readonly keyPem: string } | undefined;
}

async function identityOf(credentials: Credentials, clock: Clock, signal: AbortSignal): Promise<Identity> {
  if (credentials.kind === "certificate") return { authorization: undefined, certificate: credentials };
  if (credentials.kind === "exec") {
    const { token, certificate } = await execPluginRunner(clock)(credentials.plugin, signal);
    return { authorization: token === undefined ? undefined : `Bearer ${token}`, certificate };
  }
  const authenticator = authenticatorFor(credentials, { clock, source: undefined, onCertificate: () => {} });
  return { authorization: (await authenticator?.authorization())?.header, certificate: undefined };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // Something in front of the server answered.
  }
}

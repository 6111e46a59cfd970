/**
 * Authenticates requests, in this order: client certificate, bearer token, token in a WebSocket subprotocol. The first
 * valid credential counts. An invalid credential is an error even if anonymous requests are allowed: those have no
 * credential.
 */
import { createHash, type X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { tokenReviews } from "../api/resources.ts";
import { errorText } from "../base/error-text.ts";
import { ANONYMOUS, authenticated, type Caller } from "../domain/server/node-request.ts";
import type { ApiServer } from "../ports/api-server.ts";
import type { Clock } from "../ports/clock.ts";
import { type AccessReviewCache, TooBusy } from "./access-review-cache.ts";
import { verifyClientCertificate } from "./client-certificate.ts";
import { CERTIFICATES_PRESENTED_MAX } from "./limits.ts";

export type Authentication =
  | { readonly kind: "caller"; readonly caller: Caller; readonly isAnonymous: boolean }
  | { readonly kind: "nobody"; readonly why: string }
  | { readonly kind: "tooBusy"; readonly why: string };

/** The result of a token review. */
export type TokenAnswer =
  | { readonly kind: "caller"; readonly caller: Caller }
  | { readonly kind: "nobody"; readonly why: string };

export interface AuthenticationParts {
  readonly clock: Clock;
  /** Empty: client certificates authenticate nobody. */
  readonly authorities: () => readonly X509Certificate[];
  /** Undefined: tokens are ignored. */
  readonly tokens:
    | {
        readonly api: Pick<ApiServer, "create">;
        readonly cache: AccessReviewCache<TokenAnswer>;
        readonly keepMs: number;
      }
    | undefined;
  readonly anonymous: boolean;
}

/** Prefix of the WebSocket subprotocol that carries a client's bearer token. */
export const TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io.";

/** Every rejected token costs one TokenReview; a rejection is cached this long so that immediate repeats cost none. */
const REFUSAL_KEEP_MS_MAX = 10_000;

type Proof = { readonly kind: "none" } | { readonly kind: "tooBusy"; readonly why: string } | TokenAnswer;

const NONE: Proof = { kind: "none" };

export async function authenticate(
  request: IncomingMessage,
  parts: AuthenticationParts,
  signal: AbortSignal,
): Promise<Authentication> {
  const faults: string[] = [];
  for (const prove of [byCertificate, byBearerToken, byProtocolToken]) {
    const proof = await prove(request, parts, signal);
    if (proof.kind === "caller") return { ...proof, caller: authenticated(proof.caller), isAnonymous: false };
    if (proof.kind === "tooBusy") return proof;
    if (proof.kind === "nobody") faults.push(proof.why);
  }
  if (faults.length > 0) return { kind: "nobody", why: faults.join("; ") };
  if (parts.anonymous) return { kind: "caller", caller: ANONYMOUS, isAnonymous: true };
  return { kind: "nobody", why: "no credential" };
}

async function byCertificate(request: IncomingMessage, { clock, authorities }: AuthenticationParts): Promise<Proof> {
  const known = authorities();
  if (known.length === 0) return NONE;
  const { socket } = request;
  if (!(socket instanceof TLSSocket)) return NONE;
  const presented = presentedOver(socket);
  if (presented.length === 0) return NONE;
  // OpenSSL also checks name constraints and path lengths, but only once, during the handshake. Both verifications must
  // succeed, and OpenSSL's result is already known here.
  if (!socket.authorized) {
    return { kind: "nobody", why: `verifying certificate: ${errorText(socket.authorizationError)}` };
  }
  const verified = verifyClientCertificate(presented, known, clock.wallMs());
  if (verified.kind === "nameless") return NONE;
  if (verified.kind === "refused") return { kind: "nobody", why: `verifying certificate ${verified.why}` };
  return verified;
}

function presentedOver(socket: TLSSocket): readonly X509Certificate[] {
  const presented: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  while (next !== undefined && presented.length < CERTIFICATES_PRESENTED_MAX) {
    presented.push(next);
    next = next.issuerCertificate;
  }
  return presented;
}

async function byBearerToken(
  request: IncomingMessage,
  parts: AuthenticationParts,
  signal: AbortSignal,
): Promise<Proof> {
  const [scheme = "", token = ""] = (request.headers.authorization ?? "").trim().split(" ");
  if (scheme.toLowerCase() !== "bearer" || token === "") return NONE;
  const proof = await byToken(token, parts, signal);
  // No handler needs the token, and a deleted header cannot be logged.
  if (proof.kind === "caller") delete request.headers.authorization;
  return proof;
}

const BASE64URL = /^[-_A-Za-z0-9]+$/;

async function byProtocolToken(
  request: IncomingMessage,
  parts: AuthenticationParts,
  signal: AbortSignal,
): Promise<Proof> {
  if (parts.tokens === undefined || request.headers.upgrade?.toLowerCase() !== "websocket") return NONE;
  const all = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const [encoded, ...more] = all.filter((name) => name.startsWith(TOKEN_PROTOCOL));
  if (encoded === undefined) return NONE;
  if (more.length > 0) return { kind: "nobody", why: "multiple base64.bearer.authorization tokens specified" };
  const token = decodedToken(encoded.slice(TOKEN_PROTOCOL.length));
  if (token === undefined) return { kind: "nobody", why: "invalid base64.bearer.authorization token encoding" };
  const others = all.filter((name) => name !== encoded);
  if (others.length === 0) return { kind: "nobody", why: "missing additional subprotocol" };
  const proof = await byToken(token, parts, signal);
  if (proof.kind === "caller") request.headers["sec-websocket-protocol"] = others.join(",");
  return proof;
}

function decodedToken(encoded: string): string | undefined {
  if (!BASE64URL.test(encoded)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(encoded, "base64url"));
  } catch {
    return undefined; // Not UTF-8.
  }
}

async function byToken(token: string, { tokens }: AuthenticationParts, signal: AbortSignal): Promise<Proof> {
  if (tokens === undefined) return NONE;
  const { api, cache, keepMs } = tokens;
  const key = createHash("sha256").update(token).digest("base64");
  const put = async (reviewSignal: AbortSignal) => {
    const answer = await reviewed(api, token, reviewSignal);
    return { answer, keepMs: answer.kind === "caller" ? keepMs : Math.min(keepMs, REFUSAL_KEEP_MS_MAX) };
  };
  try {
    return await cache.ask(key, put, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof TooBusy) return { kind: "tooBusy", why: error.message };
    return { kind: "nobody", why: `the token could not be reviewed: ${errorText(error)}` };
  }
}

async function reviewed(api: Pick<ApiServer, "create">, token: string, signal: AbortSignal): Promise<TokenAnswer> {
  const { status = {} } = await api.create(tokenReviews, { metadata: {}, spec: { token } }, signal);
  const { authenticated: isProven = false, user = {}, error = "" } = status;
  if (!isProven) return { kind: "nobody", why: error === "" ? "invalid bearer token" : error };
  const { username: name = "", uid = "", groups = [], extra = {} } = user;
  return { kind: "caller", caller: { name, uid, groups, extra } };
}

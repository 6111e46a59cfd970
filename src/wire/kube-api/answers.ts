/** Interprets the server's answers: parses bodies, and turns errors into an `ApiError`. */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { ApiError, ApiUnreachableError } from "../../ports/api-error.ts";
import type { ResponseHead } from "./exchange.ts";

const unzip = promisify(gunzip);

/** The fields of a Status object that are used here. */
interface StatusBody {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number };
}

export async function decodeBody(operation: string, head: ResponseHead, body: Buffer): Promise<Buffer> {
  if (head.encoding !== "gzip") return body;
  try {
    return await unzip(body);
  } catch (cause) {
    throw new ApiUnreachableError(operation, "the answer is not the gzip it claims to be", true, { cause });
  }
}

/**
 * Parses JSON as the server sent it: a key `__proto__` stays an own property. Integers above 2^53 are not expected in
 * what we read.
 */
export function parseJson(operation: string, text: Buffer): unknown {
  try {
    return JSON.parse(text.toString("utf8"));
  } catch (cause) {
    throw new ApiUnreachableError(operation, `the answer is not JSON: ${excerpt(text)}`, true, { cause });
  }
}

/**
 * The error for an answer with status 300 or above. Its body is a Status, or anything if something in between sent it.
 */
export function refusal(operation: string, head: ResponseHead, body: Buffer, wallMs: number): ApiError {
  const retryAfterMs = parseRetryAfter(head.retryAfter, wallMs);
  const status = tryStatus(body);
  if (status === undefined) return new ApiError(operation, head.status, "", excerpt(body), retryAfterMs);
  return statusError(operation, status, head.status, retryAfterMs);
}

/** An ERROR event of a watch. */
export function eventError(operation: string, object: unknown): ApiError {
  const status = isStatus(object) ? object : {};
  return statusError(operation, status, status.code ?? 500, undefined);
}

function statusError(operation: string, status: StatusBody, code: number, retryAfterMs: number | undefined): ApiError {
  const { reason = "", message = "", details } = status;
  const seconds = details?.retryAfterSeconds;
  const waitMs = retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000);
  return new ApiError(operation, code, reason, message, waitMs);
}

function tryStatus(body: Buffer): StatusBody | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return isStatus(value) ? value : undefined;
  } catch {
    return undefined; // A proxy may answer with plain text; the error shows it as it is.
  }
}

const isStatus = (value: unknown): value is StatusBody =>
  typeof value === "object" && value !== null && "kind" in value && value.kind === "Status";

/** Parses seconds or a date; HTTP allows both. */
export function parseRetryAfter(header: string | undefined, wallMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : Math.max(dateMs - wallMs, 0);
}

const excerpt = (body: Buffer) => JSON.stringify(body.subarray(0, 200).toString("utf8"));

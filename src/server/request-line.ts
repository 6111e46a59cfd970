/**
 * Validates a request before authentication: its path must be unambiguous, and it must contain nothing that no
 * legitimate client sends.
 */
import type { IncomingMessage } from "node:http";
import { type PathParts, parsePath } from "../domain/server/node-request.ts";
import { LIMITS } from "./limits.ts";
import { HttpError } from "./route.ts";

export interface RequestLine {
  readonly method: string;
  /** Undefined: the request is rejected. */
  readonly path: PathParts | undefined;
  /** Some paths require a trailing slash, and others do not allow one. */
  readonly endsInSlash: boolean;
  readonly query: string;
}

export function requestLine({ method = "", url = "" }: IncomingMessage): RequestLine {
  const mark = url.indexOf("?");
  const [path, query] = mark < 0 ? [url, ""] : [url.slice(0, mark), url.slice(mark + 1)];
  return { method, path: parsePath(path), endsInSlash: path.endsWith("/"), query };
}

/** Throws the `HttpError` to answer with. */
export function requirePlain({ url = "", rawHeaders, headers }: IncomingMessage, { path }: RequestLine): PathParts {
  if (Buffer.byteLength(url) > LIMITS.urlBytesMax) throw new HttpError(414, "414 URI Too Long\n");
  if (rawHeaders.length / 2 > LIMITS.headersMax) throw new HttpError(431, "431 Request Header Fields Too Large\n");
  if (Number(headers["content-length"] ?? 0) > LIMITS.bodyBytesMax) throw new HttpError(413, "413 Payload Too Large\n");
  if (path === undefined) throw new HttpError(400, "400 Bad Request");
  return path;
}

/** An upgrade request must have no body: the boundary between body and stream would be ambiguous. */
export function requireBodiless(request: IncomingMessage, line: RequestLine): PathParts {
  const path = requirePlain(request, line);
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
  if (!request.complete || Number(length) !== 0 || encoding !== undefined) throw new HttpError(400, "400 Bad Request");
  return path;
}

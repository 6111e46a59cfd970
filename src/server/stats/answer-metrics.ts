/**
 * Writes metric families as a response, in the format and compression that the client accepts. Written chunk by chunk,
 * because the stats of many pods are large.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { expositionChunks } from "../../base/metrics/exposition.ts";
import type { Family } from "../../base/metrics/family.ts";
import { negotiateFormat, takesGzip } from "../../base/metrics/negotiate.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import type { RouteRequest } from "../route.ts";

/** At the lowest level this text compresses to a fifth, in a quarter of the default level's time. */
const LEVEL = 1;

export async function answerMetrics(
  { request, signal }: RouteRequest,
  response: ServerResponse,
  families: Iterable<Family>,
): Promise<void> {
  const { format, contentType } = negotiateFormat(request.headers.accept);
  const packed = takesGzip(request.headers["accept-encoding"]?.toString());
  response.writeHead(200, { "Content-Type": contentType, ...(packed ? { "Content-Encoding": "gzip" } : {}) });
  const chunks = expositionChunks(families, format);
  try {
    if (packed) {
      const gzip = createGzip({ level: LEVEL });
      await Promise.all([pipeline(gzip, response, { signal }), writeAll(gzip, chunks, signal)]);
    } else await writeAll(response, chunks, signal);
  } catch (error) {
    // If the client has left, wait for "close": then the signal's reason is thrown, not the stream's error.
    if (response.socket?.destroyed === true && !response.closed) await once(response, "close");
    signal.throwIfAborted();
    throw error;
  }
}

/** All chunks share one buffer: each must be written out before the next one is generated. */
async function writeAll(out: Writable, chunks: Iterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  for (const chunk of chunks) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    out.write(chunk, (error) => (error instanceof Error ? reject(error) : resolve()));
    await raceAbort(promise, signal);
  }
  out.end();
}

/** Reads a request body up to the size that its route allows. */
import type { IncomingMessage } from "node:http";
import { HttpError } from "./route.ts";

/** Rejects with a 413 `HttpError` with the text `refusal` if the body is longer. */
export async function readBody(request: IncomingMessage, bytesMax: number, refusal: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Ending this loop must not destroy the request: the response and the listener still need its socket.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new HttpError(413, refusal);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

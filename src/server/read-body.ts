/** The body of a request, of which no more is held than its route allows. */
import type { IncomingMessage } from "node:http";
import { Refusal } from "./route.ts";

/** Rejects with a `Refusal` that says `refusal` when the body is longer. */
export async function readBody(request: IncomingMessage, bytesMax: number, refusal: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // A request that this loop destroyed would have no socket, which its answer and the listener need.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Refusal(413, refusal);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

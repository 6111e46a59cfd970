/** Whether only CPU and memory are wanted: said once, in the query or in a form. */
import { FORM_BYTES_MAX } from "../limits.ts";
import { type Asked, Refusal } from "../route.ts";

const NAME = "only_cpu_and_memory";
const FORM = "application/x-www-form-urlencoded";

export async function asksForUsageOnly({ request, query }: Asked): Promise<boolean> {
  const said = query.getAll(NAME);
  if (request.method === "POST" && request.headers["content-type"]?.startsWith(FORM) === true) {
    const chunks: Buffer[] = [];
    let bytes = 0;
    // A request that this loop destroyed would have no socket, which its answer and the listener need.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > FORM_BYTES_MAX) throw new Refusal(413, "the form is too large");
      chunks.push(chunk);
    }
    said.push(...new URLSearchParams(Buffer.concat(chunks).toString("utf8")).getAll(NAME));
  }
  return said.length === 1 && said[0] === "true";
}

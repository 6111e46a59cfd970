/** Whether the request wants CPU and memory only: stated exactly once, in the query or in a form. */
import { FORM_BYTES_MAX } from "../limits.ts";
import { readBody } from "../read-body.ts";
import type { RouteRequest } from "../route.ts";

const NAME = "only_cpu_and_memory";
const FORM = "application/x-www-form-urlencoded";

export async function asksForUsageOnly({ request, query }: RouteRequest): Promise<boolean> {
  const said = query.getAll(NAME);
  if (request.method === "POST" && request.headers["content-type"]?.startsWith(FORM) === true) {
    const form = await readBody(request, FORM_BYTES_MAX, "the form is too large");
    said.push(...new URLSearchParams(form).getAll(NAME));
  }
  return said.length === 1 && said[0] === "true";
}

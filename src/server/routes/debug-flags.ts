/** /debug/flags/v: changes the log verbosity at run time. */
import { goQuote } from "../../base/go-text.ts";
import { FLAG_BODY_BYTES_MAX } from "../limits.ts";
import { ANY_METHOD, plainRoute } from "../plain-route.ts";
import { readBody } from "../read-body.ts";
import { send } from "../responses.ts";
import type { Route } from "../route.ts";

/** Go sends no charset here. */
const TYPE = "text/plain";
const VERBOSITY_MAX = 2 ** 32 - 1;

export const verbosityRoute = (setVerbosity: (verbosity: number) => void): Route =>
  plainRoute(
    "/debug/flags/v",
    { methods: ANY_METHOD, subresources: ["proxy"], switch: "debugFlags" },
    async ({ request }, response) => {
      if (request.method !== "PUT") return send(response, 406, TYPE, "unsupported http method\n");
      const text = await readBody(request, FLAG_BODY_BYTES_MAX, "the value is too large");
      const fault = faultOf(text);
      if (fault !== undefined)
        return send(response, 400, TYPE, `strconv.ParseUint: parsing ${goQuote(text)}: ${fault}\n`);
      setVerbosity(Number(text));
      return send(response, 200, TYPE, `successfully set klog.logging.verbosity to ${text}\n`);
    },
  );

function faultOf(text: string): string | undefined {
  if (!/^\d+$/.test(text)) return "invalid syntax";
  return Number(text) > VERBOSITY_MAX ? "value out of range" : undefined;
}

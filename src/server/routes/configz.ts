/** /configz: the running configuration. */

import { ANY_METHOD, plainRoute } from "../plain-route.ts";
import { sendJson } from "../responses.ts";
import type { Route } from "../route.ts";

export const configzRoute = (configuration: () => object): Route =>
  plainRoute(
    "/configz",
    { methods: ANY_METHOD, subresources: ["configz", "proxy"], switch: "debugging" },
    (_, response) => sendJson(response, JSON.stringify({ kubeletconfig: configuration() }, wholeNumbers)),
  );

/** TypeScript's library types do not include it yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** Writes 64-bit integers without rounding. */
const wholeNumbers = (_: string, value: unknown) => (typeof value === "bigint" ? rawJSON(String(value)) : value);

/** The configuration that runs, under the name that tools look for. */
import { sendJson } from "../answers.ts";
import { ANY_METHOD, plainRoute } from "../plain-route.ts";
import type { Route } from "../route.ts";

export const configzRoute = (configuration: () => object): Route =>
  plainRoute(
    "/configz",
    { methods: ANY_METHOD, subresources: ["configz", "proxy"], switch: "debugging" },
    (_, response) => sendJson(response, JSON.stringify({ kubeletconfig: configuration() }, wholeNumbers)),
  );

/** TypeScript does not know it yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** Numbers of 64 bits, unrounded. */
const wholeNumbers = (_: string, value: unknown) => (typeof value === "bigint" ? rawJSON(String(value)) : value);

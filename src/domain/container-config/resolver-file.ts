/** Parses a node's resolver file. Unknown content is ignored, as resolvers do. */
import type { ResolverConfig } from "./resolver-limits.ts";

export type ResolverFile =
  | { readonly kind: "parsed"; readonly config: ResolverConfig }
  | { readonly kind: "refused"; readonly message: string };

/** The characters that Go treats as white space. */
const BLANKS = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;
const NO_SERVER = "nameserver list is empty ";

export function parseResolverFile(text: string): ResolverFile {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  const options = new Map<string, string>();
  let complete = true;
  for (const line of text.split("\n")) {
    const [keyword = "", ...values] = line.split(BLANKS).filter((word) => word !== "");
    // Comments need no special case: their first word is never one of these keywords.
    if (keyword === "nameserver") {
      if (values[0] === undefined) complete = false;
      else servers.push(values[0]);
    }
    // The last search line wins. A trailing dot is removed, because a domain with and without it is the same.
    if (keyword === "search") searches = values.filter((name) => name !== ".").map((name) => name.replace(/\.$/, ""));
    if (keyword === "options") for (const option of values) options.set(option.split(":", 1)[0] ?? option, option);
  }
  // An empty entry would make a resolver query its own machine. Starting no pod is better than that.
  if (!complete) return { kind: "refused", message: NO_SERVER };
  return { kind: "parsed", config: { servers, searches, options: [...options.values()] } };
}

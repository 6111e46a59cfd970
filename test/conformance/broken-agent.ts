/**
 * Deckhand with one thing broken: what it writes of a pod's status never reaches the API server. Tests that pass on it cannot see the agent. The
 * production code is all of it; only the client of the API server is another.
 */
import { registerHooks } from "node:module";
import { DECKHAND_MAIN } from "../cluster/node.ts";

const broken = import.meta.resolve("./broken-kube-api.ts");

registerHooks({
  resolve(specifier, context, nextResolve) {
    const found = nextResolve(specifier, context);
    const replaced = found.url.endsWith("/wire/kube-api/client.ts") && context.parentURL !== broken;
    return replaced ? { ...found, url: broken } : found;
  },
});

await import(DECKHAND_MAIN);

/**
 * Deckhand with one fault: its writes of pod status never reach the API server. A test that passes with it does not
 * depend on the agent. All code is the production code; only the API server client is replaced.
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

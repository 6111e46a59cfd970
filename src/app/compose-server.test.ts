import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "../../test/support/options.ts";
import { compose } from "./compose.ts";
import { type ServerWiring, serverLoops } from "./compose-server.ts";
import type { KubeletPorts } from "./wiring.ts";

/** No port is called before a loop runs, except for the time: composition starts to watch the loops. */
const log = { info: () => {}, error: () => {} };
const anything = new Proxy({}, { get: () => () => assert.fail("nothing is asked yet") });
const clock = { monotonicMs: () => 0, wallMs: () => 0 };
const ports = { runtime: anything, images: anything, clock, logOf: () => log } as unknown as KubeletPorts;

function loops(...args: readonly string[]): number {
  const { options } = load(args);
  const { cells } = compose(ports, options);
  const wiring = { ports, options, cells, reviews: undefined, checks: [], otherRoutes: [] };
  return serverLoops(wiring as unknown as ServerWiring).length;
}

test("[1.26] enableServer=false opens no listener", () => {
  assert.equal(loops("--enable-server=false"), 0);
  assert.equal(
    loops("--enable-server=false", "--client-ca-file=/ca", "--tls-cert-file=/c", "--tls-private-key-file=/k"),
    0,
  );
});

test("[1.6] without a configuration file there are two listeners, and one when the read-only port is off", () => {
  // One more loop always maintains the serving certificate.
  assert.equal(loops(), 3);
  assert.equal(loops("--read-only-port=0"), 2);
  assert.equal(loops("--read-only-port=0", "--client-ca-file=/ca"), 3);
  assert.equal(loops("--read-only-port=0", "--tls-cert-file=/c", "--tls-private-key-file=/k"), 2);
});

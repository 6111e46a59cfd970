/** The output of `hostile-client.ts`, and the responses required of a kubelet server. */
import assert from "node:assert/strict";
import { LIMITS } from "../../src/server/limits.ts";

interface Outcome {
  readonly name: string;
  readonly kept?: number;
  readonly answers?: number;
  readonly endedMs?: number;
  readonly statuses?: readonly number[];
}

/**
 * The attacked server accepts no anonymous client. `isNear`: the clients use the loopback interface, where a client
 * that is still sending always reads the response. Over a network the connection may be reset before.
 */
export function assertHeldOff(stdout: string, { isNear }: { readonly isNear: boolean }): void {
  const outcomes = new Map(
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Outcome)
      .map((outcome) => [outcome.name, outcome]),
  );
  const of = (name: string): Outcome => outcomes.get(name) ?? assert.fail(`no outcome of ${name} in ${stdout}`);
  for (const name of ["halfOpen", "idle"])
    assert.ok((of(name).kept ?? Infinity) <= LIMITS.unauthenticatedPerPeerMax, name);
  assert.ok((of("pipelined").answers ?? Infinity) < 100);
  const { endedMs = 0 } = of("slowHeader");
  assert.ok(endedMs > LIMITS.headersMsMax / 2 && endedMs < LIMITS.headersMsMax + 20_000, String(endedMs));
  const { statuses: ofCookie = [] } = of("largeCookie");
  if (isNear || ofCookie.length > 0) assert.deepEqual(ofCookie, [431]);
  assert.deepEqual(of("upgradeGarbage").statuses, [401]);
  assert.deepEqual(of("smuggled").statuses, [400]);
  assert.deepEqual(of("paths").statuses, [400, 400, 400, 400, 401, 401, 400]);
  assert.deepEqual(of("methods").statuses, [401, 401, 401, 0, 400, 400]);
}

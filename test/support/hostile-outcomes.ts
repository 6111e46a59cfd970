/** What `hostile-client.ts` prints, and what a kubelet server must have answered. */
import assert from "node:assert/strict";
import { LIMITS } from "../../src/server/limits.ts";

interface Outcome {
  readonly name: string;
  readonly kept?: number;
  readonly answers?: number;
  readonly endedMs?: number;
  readonly statuses?: readonly number[];
}

/** The server that they attack admits no anonymous client. */
export function assertHeldOff(stdout: string): void {
  const outcomes = new Map(
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Outcome)
      .map((outcome) => [outcome.name, outcome]),
  );
  const of = (name: string): Outcome => outcomes.get(name) ?? assert.fail(`no outcome of ${name} in ${stdout}`);
  for (const name of ["halfOpen", "idle"]) assert.ok((of(name).kept ?? Infinity) <= LIMITS.strangersPerPeerMax, name);
  assert.ok((of("pipelined").answers ?? Infinity) < 100);
  const { endedMs = 0 } = of("slowHeader");
  assert.ok(endedMs > LIMITS.headersMsMax / 2 && endedMs < LIMITS.headersMsMax + 20_000, String(endedMs));
  // Who still sends may be reset before the answer is read.
  assert.ok(["[431]", "[]"].includes(JSON.stringify(of("largeCookie").statuses)), "largeCookie");
  assert.deepEqual(of("upgradeGarbage").statuses, [401]);
  assert.deepEqual(of("smuggled").statuses, [400]);
  assert.deepEqual(of("paths").statuses, [400, 400, 400, 400, 401, 401, 400]);
  assert.deepEqual(of("methods").statuses, [401, 401, 401, 0, 400, 400]);
}

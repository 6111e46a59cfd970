import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../../sim/seeded-random.ts";
import { VirtualClock } from "../../../sim/virtual-clock.ts";
import { pod } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { ApiError } from "../../ports/api-error.ts";
import type { ApiObject, ApiServer } from "../../ports/api-server.ts";
import { Tokens } from "./tokens.ts";

const MINUTE_MS = 60_000;
const SPEC = { audience: "", expirationSeconds: 3600 };
const never = new AbortController().signal;

function begin(clockIsWrongMs: number) {
  const clock = new VirtualClock();
  clock.jumpWall(clockIsWrongMs);
  let asked = 0;
  const api: Pick<ApiServer, "ask"> = {
    ask: async <Answer extends ApiObject>(
      _resource: unknown,
      _name: unknown,
      _subresource: unknown,
      question: ApiObject,
    ) => {
      asked += 1;
      const expirationTimestamp = new Date(clock.trueWallMs() + SPEC.expirationSeconds * 1000).toISOString();
      const status = { token: `token-${asked}`, expirationTimestamp };
      return { ...question, status } as ApiObject as Answer;
    },
  };
  const tokens = new Tokens({ api, clock, random: new SeededRandom(1), log: keptLog() });
  return { clock, asked: () => asked, ensure: () => tokens.ensure(pod(), [SPEC], never) };
}

for (const [how, byMs] of [
  ["right", 0],
  ["an hour ahead", 60 * MINUTE_MS],
  ["two hours behind", -120 * MINUTE_MS],
] as const) {
  test(`a token is used for 80% of its lifetime on a node whose clock is ${how}`, async () => {
    const { clock, asked, ensure } = begin(byMs);
    const { againMs } = await ensure();
    assert.ok(againMs !== undefined && againMs > 47 * MINUTE_MS && againMs <= 48 * MINUTE_MS, `in ${againMs} ms`);
    await clock.advance(47 * MINUTE_MS);
    await ensure();
    assert.equal(asked(), 1);
    await clock.advance(MINUTE_MS);
    const { token } = await ensure();
    assert.deepEqual(token(SPEC), { kind: "present", token: "token-2" });
  });
}

test("[13.11] a refused token request fails with the API server's message", async () => {
  const detail = 'serviceaccounts "builder" not found';
  const api = { ask: () => Promise.reject(new ApiError("CREATE serviceaccounts/token", 404, "NotFound", detail)) };
  const tokens = new Tokens({ api, clock: new VirtualClock(), random: new SeededRandom(1), log: keptLog() });
  const { token } = await tokens.ensure(pod(), [SPEC], never);
  assert.deepEqual(token(SPEC), { kind: "failed", message: `failed to fetch token: ${detail}` });
});

const NO_RELATIONSHIP = new ApiError("CREATE", 403, "Forbidden", "no relationship found");
const UNKNOWN_POD = new ApiError("CREATE", 404, "NotFound", 'pod "p" not found');

test("[13.11] a token request is repeated four times while the API server's caches lack the pod", async () => {
  for (const [refusal, refusals, kind] of [
    [NO_RELATIONSHIP, 2, "present"],
    [NO_RELATIONSHIP, 9, "failed"],
    [UNKNOWN_POD, 2, "present"],
    [UNKNOWN_POD, 9, "failed"],
  ] as const) {
    const clock = new VirtualClock();
    let asked = 0;
    const ask = async () => {
      asked += 1;
      if (asked <= refusals) throw refusal;
      return { spec: { expirationSeconds: 600 }, status: { token: "t", expirationTimestamp: "2026-01-01T00:00:00Z" } };
    };
    const api = { ask } as unknown as Pick<ApiServer, "ask">;
    const tokens = new Tokens({ api, clock, random: new SeededRandom(1), log: keptLog() });
    const ensuring = tokens.ensure(pod(), [SPEC], never);
    await clock.advance(1_000);
    const { token } = await ensuring;
    assert.deepEqual([token(SPEC).kind, asked], [kind, Math.min(refusals + 1, 5)]);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../sim/virtual-clock.ts";
import { TokenBucket } from "./token-bucket.ts";

const forever = new AbortController().signal;

/** Takes `count` tokens and records when each was granted. */
function takeMany(clock: VirtualClock, bucket: TokenBucket, count: number): number[] {
  const grantedAtMs: number[] = [];
  for (let i = 0; i < count; i += 1) void bucket.take(forever).then(() => grantedAtMs.push(clock.monotonicMs()));
  return grantedAtMs;
}

void test("token bucket grants the burst at once and the rest at its rate", async () => {
  const clock = new VirtualClock();
  const granted = takeMany(clock, new TokenBucket(clock, { perSecond: 50, burst: 100 }), 150);
  await clock.advance(0);
  assert.equal(granted.length, 100);
  await clock.advance(500);
  assert.equal(granted.length, 125);
  await clock.advance(500);
  assert.equal(granted.length, 150);
  assert.equal(clock.pending, 0);
});

void test("an idle token bucket accumulates no more than the burst", async () => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket(clock, { perSecond: 10, burst: 3 });
  await clock.advance(3_600_000);
  const granted = takeMany(clock, bucket, 5);
  await clock.advance(0);
  assert.equal(granted.length, 3);
  await clock.advance(200);
  assert.equal(granted.length, 5);
});

void test("token bucket grants tokens in order of arrival", async () => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket(clock, { perSecond: 1, burst: 1 });
  await bucket.take(forever);
  const order: string[] = [];
  for (const name of ["a", "b", "c"]) void bucket.take(forever).then(() => order.push(name));
  await clock.advance(3000);
  assert.deepEqual(order, ["a", "b", "c"]);
});

void test("an aborted caller takes no token and does not delay the next one", async () => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket(clock, { perSecond: 1, burst: 1 });
  await bucket.take(forever);
  const impatient = new AbortController();
  const refused = bucket.take(impatient.signal);
  let served = false;
  void bucket.take(forever).then(() => (served = true));
  impatient.abort(new Error("enough"));
  await assert.rejects(refused, /enough/);
  await clock.advance(1000);
  assert.ok(served);
});

void test("token bucket has no timer without callers, and rejects an aborted signal at once", async () => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket(clock, { perSecond: 1, burst: 1 });
  await bucket.take(forever);
  const impatient = new AbortController();
  const refused = bucket.take(impatient.signal);
  assert.equal(clock.pending, 1);
  impatient.abort(new Error("enough"));
  await assert.rejects(refused, /enough/);
  assert.equal(clock.pending, 0);
  await assert.rejects(bucket.take(impatient.signal), /enough/);
});

void test("tryTake succeeds only while a token is free, and takes none from waiting callers", async () => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket(clock, { perSecond: 1, burst: 2 });
  assert.deepEqual([bucket.tryTake(), bucket.tryTake(), bucket.tryTake()], [true, true, false]);
  const granted = takeMany(clock, bucket, 1);
  await clock.advance(999);
  assert.equal(bucket.tryTake(), false);
  await clock.advance(1);
  assert.deepEqual([granted, bucket.tryTake()], [[1_000], false]);
  assert.equal(new TokenBucket(clock, { perSecond: 5, burst: 0 }).tryTake(), false);
});

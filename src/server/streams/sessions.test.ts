import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { Registry } from "../../base/metrics/registry.ts";
import { streamMetrics } from "../../domain/metrics/stream-metrics.ts";
import { STREAMS_PER_POD_MAX } from "../limits.ts";
import { HttpError } from "../route.ts";
import { type StreamEnd, StreamSessions, type StreamVerb } from "./sessions.ts";

function worldOf(idleLimitMs: number) {
  const clock = new ManualClock();
  const log = keptLog();
  const life = new AbortController();
  const registry = new Registry();
  const sessions = new StreamSessions(clock, log, idleLimitMs, streamMetrics(registry));
  const open = (verb: StreamVerb, uid = "uid", why: StreamEnd = "shutdown") =>
    sessions.open(verb, uid, { signal: life.signal, why: () => why });
  const samples = (name: string) => {
    const family = registry.collect().find((one) => one.name === name);
    if (family?.kind !== "counter" && family?.kind !== "gauge") return {};
    return Object.fromEntries(
      family.samples.map(({ labels, value }) => [labels.map(([, label]) => label).join(" "), value]),
    );
  };
  return { clock, log, life, open, samples };
}

void test("streams are counted while open, and when ended by verb, transport and first reason", () => {
  const { open, samples, log } = worldOf(0);
  const [one, two] = [open("exec"), open("portForward")];
  assert.deepEqual(samples("deckhand_streams_open"), { exec: 1, portForward: 1 });
  two.carried = "tunnelled";
  two.active(7);
  two.end("runtime");
  two.end("client");
  two[Symbol.dispose]();
  // Without a reason the stream counts as failed.
  one[Symbol.dispose]();
  assert.deepEqual(samples("deckhand_streams_open"), { exec: 0, portForward: 0 });
  assert.deepEqual(samples("deckhand_streams_closed_total"), {
    "tunnelled runtime portForward": 1,
    "piped failed exec": 1,
  });
  assert.match(log.lines[0] ?? "", /^2 A stream ended .*"reason":"runtime".*"bytes":7/);
});

void test(`a pod may have ${STREAMS_PER_POD_MAX} streams of all kinds together, independent of other pods`, () => {
  const { open } = worldOf(0);
  const all = Array.from({ length: STREAMS_PER_POD_MAX }, (_, index) =>
    open(index % 2 === 0 ? "exec" : "attach", "full"),
  );
  const refused = (error: unknown) => error instanceof HttpError && error.status === 429;
  assert.throws(() => open("portForward", "full"), refused);
  open("exec", "other");
  all[3]?.[Symbol.dispose]();
  open("portForward", "full");
  assert.throws(() => open("exec", "full"), refused);
});

void test("the idle time counts from the last data, and a limit of 0 is none", async () => {
  const { clock, open } = worldOf(1_000);
  using session = open("attach");
  await clock.advance(900);
  session.active(1);
  await clock.advance(900);
  assert.equal(session.cut.aborted, false);
  await clock.advance(100);
  assert.equal(session.cut.aborted, true);
  const endless = worldOf(0);
  using silent = endless.open("attach");
  await endless.clock.advance(1e12);
  assert.equal(silent.cut.aborted, false);
  assert.equal(endless.clock.timersPending, 0);
});

void test("a stream opened after the abort is cut at once, for the given reason", () => {
  const { life, open, samples } = worldOf(1_000);
  life.abort();
  const session = open("exec", "uid", "client");
  assert.equal(session.cut.aborted, true);
  session[Symbol.dispose]();
  assert.deepEqual(samples("deckhand_streams_closed_total"), { "piped client exec": 1 });
});

/** Tests every way in which a call can fail, at its exact moment. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CallDescription, type Fault, type Life, type PortCall, PortCalls } from "./port-calls.ts";
import { SeededRandom } from "./seeded-random.ts";
import { Trace } from "./trace.ts";
import { VirtualClock } from "./virtual-clock.ts";

const forever = new AbortController().signal;
const lost = new Error("no answer");
const what = (name: string): CallDescription => ({ port: "test", name, target: "x", unanswered: () => lost });

function begin(fault?: Fault, latencyMs = 10, seed = 1) {
  const clock = new VirtualClock();
  const trace = new Trace();
  const crashes: PortCall[] = [];
  const calls = new PortCalls({
    clock,
    trace,
    random: new SeededRandom(seed),
    latencyMs: () => latencyMs,
    plan: () => fault,
    onCrash: (call) => {
      crashes.push(call);
      life.cut();
    },
  });
  const life: Life = calls.begin("n1", 1);
  const effects: number[] = [];
  const call = (signal = forever) =>
    outcomeOf(
      clock,
      life.call(what("do"), signal, () => effects.push(clock.monotonicMs())),
    );
  return { clock, trace, calls, life, effects, crashes, call };
}

/** The outcome of a promise so far, with its time. */
function outcomeOf(clock: VirtualClock, promise: Promise<unknown>): { readonly now: () => string } {
  let found = "open";
  promise.then(
    () => (found = `ok at ${clock.monotonicMs()}`),
    (error: unknown) => (found = `${String(error)} at ${clock.monotonicMs()}`),
  );
  return { now: () => found };
}

test("a call takes effect when its request arrives and is answered when the reply does", async () => {
  const { clock, effects, call, trace } = begin();
  const outcome = call();
  await clock.advance(19);
  assert.deepEqual([effects, outcome.now()], [[10], "open"]);
  await clock.advance(1);
  assert.equal(outcome.now(), "ok at 20");
  assert.deepEqual(trace.lastLines, ["0 1 n1#1 test.do x", "20 1 ok"]);
});

for (const [name, fault, effects, outcome] of [
  ["failed before its effect", { kind: "fail", effect: "none" }, [], "Error: no answer at 20"],
  ["failed after its effect", { kind: "fail", effect: "done" }, [10], "Error: no answer at 20"],
  [
    "failed with an error of its own",
    { kind: "fail", effect: "none", error: new Error("own") },
    [],
    "Error: own at 20",
  ],
  ["left hanging", { kind: "hang", effect: "none" }, [], "open"],
  ["left hanging after its effect", { kind: "hang", effect: "done" }, [10], "open"],
  ["crashed at before its effect", { kind: "crash", effect: "none" }, [], "open"],
  ["crashed at after its effect", { kind: "crash", effect: "done" }, [10], "open"],
] as const) {
  test(`a call that is ${name}`, async () => {
    const world = begin(fault);
    const call = world.call();
    await world.clock.advance(1000);
    assert.deepEqual([world.effects, call.now()], [effects, outcome]);
    assert.equal(world.crashes.length, fault.kind === "crash" ? 1 : 0);
    assert.equal(world.life.isAlive, fault.kind !== "crash");
    assert.equal(world.life.pendingCount, fault.kind === "hang" ? 1 : 0);
  });
}

test("a caller that aborts is rejected at once, and a request that has not arrived yet is withdrawn", async () => {
  const { clock, effects, call, life } = begin();
  const giveUp = new AbortController();
  const outcome = call(giveUp.signal);
  await clock.advance(5);
  giveUp.abort(new Error("enough"));
  await clock.advance(0);
  assert.equal(outcome.now(), "Error: enough at 5");
  await clock.advance(100);
  assert.deepEqual([effects, life.pendingCount, clock.pending], [[], 0, 0]);
});

test("a hanging call ends when its caller aborts", async () => {
  const { clock, effects, call } = begin({ kind: "hang", effect: "done" });
  const giveUp = new AbortController();
  const outcome = call(giveUp.signal);
  await clock.advance(500);
  giveUp.abort(new Error("enough"));
  await clock.advance(0);
  assert.deepEqual([effects, outcome.now()], [[10], "Error: enough at 500"]);
});

test("a request in flight when its agent dies takes effect or not, depending on the seed", async () => {
  const found = new Set<string>();
  for (let seed = 0; seed < 20; seed += 1) {
    const { clock, effects, call, life } = begin(undefined, 10, seed);
    const outcome = call();
    await clock.advance(5);
    life.cut();
    await clock.advance(100);
    assert.equal(outcome.now(), "open");
    found.add(effects.join());
  }
  assert.deepEqual([...found].sort(), ["", "10"]);
});

test("a dead agent makes no calls and sets no timers", async () => {
  const { clock, effects, call, life, calls } = begin();
  let fired = false;
  life.clock.after(10, () => (fired = true));
  life.cut();
  life.clock.after(10, () => (fired = true));
  const outcome = call();
  await clock.advance(100);
  assert.deepEqual([fired, effects, outcome.now(), calls.count, clock.pending], [false, [], "open", 0, 0]);
});

test("a stream delivers its values in order, whatever their latency, and closes when its reader leaves", async () => {
  const clock = new VirtualClock();
  const random = new SeededRandom(3);
  const latencyMs = () => random.fraction() * 100;
  const life = new PortCalls({ clock, trace: new Trace(), random, latencyMs }).begin("n1", 1);
  let isOpen = false;
  let send: (value: number) => void = () => {};
  const stream = life.stream<number>(what("follow"), forever, (sink) => {
    isOpen = true;
    send = (value) => sink.send(value);
    return () => (isOpen = false);
  });
  const seen: number[] = [];
  const read = (async () => {
    for await (const value of stream) {
      seen.push(value);
      if (value === 49) return;
    }
  })();
  await clock.advance(300);
  for (let value = 0; value < 60; value += 1) send(value);
  await clock.advance(1000);
  await read;
  assert.deepEqual(
    seen,
    Array.from({ length: 50 }, (_, index) => index),
  );
  assert.deepEqual([isOpen, life.pendingCount], [false, 0]);
});

test("a stream that was opened but whose reply got lost is closed in the world", async () => {
  const { clock, life } = begin({ kind: "fail", effect: "done" });
  const opened: string[] = [];
  const stream = life.stream<number>(what("follow"), forever, () => {
    opened.push("opened");
    return () => opened.push("closed");
  });
  const read = assert.rejects(stream.next(), lost);
  await clock.advance(100);
  await read;
  assert.deepEqual([opened, life.pendingCount], [["opened", "closed"], 0]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { type PullOutcome, PullQueue } from "./pull-queue.ts";

/** Resolves after everything that waits for an already settled promise has run. */
const turn = async () => {
  for (let step = 0; step < 10; step += 1) await Promise.resolve();
};

interface Call {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly end: (outcome: PullOutcome<string>) => void;
}

function begin(most: number) {
  const queue = new PullQueue<string>(most);
  const calls: Call[] = [];
  const heard: string[] = [];
  const join = (key: string, who = key) =>
    queue.join(
      key,
      (signal) => {
        const { promise, resolve, reject } = Promise.withResolvers<PullOutcome<string>>();
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        calls.push({ name: key, signal, end: resolve });
        return promise;
      },
      {
        moved: (position) => void heard.push(`${who} ${position}`),
        settled: (outcome) => void heard.push(`${who} ${outcome.kind === "pulled" ? outcome.pulled : outcome.error}`),
      },
    );
  const reported = () => heard.splice(0);
  const pulled = async (name: string) => {
    calls.find((call) => call.name === name && !call.signal.aborted)?.end({ kind: "pulled", pulled: "ok" });
    await turn();
  };
  return { queue, calls, join, reported, pulled, names: () => calls.map(({ name }) => name) };
}

test("[9.4] the queue limits parallel pulls, starts the others in FIFO order, and reports each change of position", async () => {
  const { join, reported, pulled, names } = begin(2);
  for (const key of ["a", "b", "c", "d"]) join(key);
  assert.deepEqual(names(), ["a", "b"]);
  assert.deepEqual(reported(), ["a 0", "b 0", "c 1", "c 1", "d 2"]);
  await pulled("b");
  assert.deepEqual(reported(), ["b ok", "c 0", "d 1"]);
  await pulled("a");
  await pulled("c");
  await pulled("d");
  assert.deepEqual(reported(), ["a ok", "d 0", "c ok", "d ok"]);
});

test("requests for a running or queued pull share it and get the same outcome; a finished pull is not shared", async () => {
  const { join, reported, pulled, names } = begin(1);
  join("a", "first");
  join("a", "second");
  join("b", "third");
  join("b", "fourth");
  reported();
  await pulled("a");
  assert.deepEqual(reported(), ["first ok", "second ok", "third 0", "fourth 0"]);
  await pulled("b");
  assert.deepEqual(names(), ["a", "b"]);
  join("a", "later");
  assert.deepEqual(names(), ["a", "b", "a"], "a finished pull is not shared");
});

test("a pull without requesters is aborted or never started, and its key can be requested again at once", async () => {
  const { join, reported, pulled, calls, names } = begin(1);
  const leaveFirst = join("a", "first");
  const leaveSecond = join("a", "second");
  const leaveQueued = join("b");
  join("c");
  leaveQueued();
  leaveFirst();
  assert.equal(calls[0]?.signal.aborted, false);
  leaveSecond();
  leaveSecond();
  assert.equal(calls[0]?.signal.aborted, true);
  join("a", "again");
  await turn();
  await pulled("c");
  assert.deepEqual(names(), ["a", "c", "a"]);
  await pulled("a");
  assert.deepEqual(
    reported().filter((line) => line.endsWith("ok")),
    ["c ok", "again ok"],
  );
});

test("a pull that throws is reported as failed and does not block the queue; close starts no queued pull", async () => {
  const { queue, join, reported, names } = begin(1);
  queue.join("x", () => Promise.reject(new Error("a bug")), {
    moved: () => {},
    settled: (outcome) => assert.deepEqual(outcome, { kind: "failed", error: "a bug" }),
  });
  join("a");
  join("b");
  await turn();
  assert.deepEqual(names(), ["a"]);
  reported();
  await queue.close();
  assert.deepEqual([reported(), names()], [[], ["a"]]);
});

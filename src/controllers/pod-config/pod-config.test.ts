import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import { type Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { type DesiredPods, noPods, type SourceState } from "../../domain/pod/desired-pod.ts";
import type { PodSource } from "../../domain/pod/pod-identity.ts";
import { runPodConfig } from "./pod-config.ts";

const pod = (name: string, uid: string): Pod => ({ metadata: { name, namespace: "ns", uid } });
const seen = (...pods: readonly Pod[]): SourceState => ({ kind: "seen", pods });

async function start() {
  const clock = new ManualClock();
  const file = new LatestCell<SourceState>({ kind: "unseen" });
  const api = new LatestCell<SourceState>({ kind: "unseen" });
  const desiredPods = new LatestCell<DesiredPods>(noPods);
  const reported: string[] = [];
  const events = {
    emit: (subject: { name: string }, type: string, reason: string, message: string) =>
      void reported.push(`${subject.name} ${type} ${reason} ${message}`),
  };
  const stop = new AbortController();
  const sources = new Map<PodSource, Latest<SourceState>>([
    ["file", file],
    ["api", api],
  ]);
  const ended = runPodConfig({ sources, desiredPods, clock, events, log: keptLog() }, stop.signal);
  await clock.advance(0);
  const uids = () => [...desiredPods.value.pods.keys()];
  return { clock, file, api, desiredPods, reported, stop, ended, uids };
}

test("[4.9] sources are merged as they report, and sourcesReady is set once all have", async () => {
  const { clock, file, api, desiredPods, uids } = await start();
  assert.deepEqual([uids(), desiredPods.value.sourcesReady], [[], false]);
  file.set(seen(pod("a", "1")));
  await clock.advance(0);
  assert.deepEqual([uids(), desiredPods.value.sourcesReady], [["1"], false]);
  file.set(seen());
  await clock.advance(0);
  assert.deepEqual(uids(), ["1"]);
  api.set(seen(pod("b", "2")));
  await clock.advance(0);
  assert.deepEqual([uids(), desiredPods.value.sourcesReady], [["2"], true]);
});

test("[4.3] a duplicate emits FailedValidation once, and again only after it was gone", async () => {
  const { clock, file, reported } = await start();
  const twice = seen(pod("a", "1"), pod("a", "2"));
  for (const state of [twice, seen(pod("a", "1"), pod("a", "2"), pod("b", "3")), seen(pod("a", "1")), twice]) {
    file.set(state);
    await clock.advance(0);
  }
  const line =
    'a Warning FailedValidation Error validating pod a_ns(2) from file due to duplicate pod name "a", ignoring';
  assert.deepEqual(reported, [line, line]);
});

test("the loop ends with its signal", async () => {
  const { clock, stop, ended } = await start();
  stop.abort(new Error("shutdown"));
  await ended;
  assert.equal(clock.timersPending, 0);
});

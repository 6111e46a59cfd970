import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { pod } from "../../../test/support/pods.ts";
import { newPodState } from "./pod-state.ts";
import { emitTurnFailure, KillError } from "./turn-failure.ts";

function eventsOf(error: unknown): readonly string[] {
  const events: string[] = [];
  const state = newPodState("u1", 0);
  state.pod = pod();
  emitTurnFailure(state, error, {
    clock: new ManualClock(),
    events: { emit: (_subject, type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
  });
  return events;
}

const away = new Error("unavailable");
const killText = (container: string) =>
  `failed to "KillContainer" for "${container}" with KillContainerError: "unavailable"`;

test("FailedKillPod names each container that did not stop", () => {
  const one = new KillError("web", away);
  assert.deepEqual(eventsOf(one), [`Warning FailedKillPod error killing pod: ${killText("web")}`]);
  const both = new AggregateError([one, new KillError("db", away)], "two failures");
  assert.deepEqual(eventsOf(both), [
    `Warning FailedKillPod error killing pod: [${killText("web")}, ${killText("db")}]`,
  ]);
});

test("a failure that the pod's owner cannot fix emits no event", () => {
  assert.deepEqual(eventsOf(new Error("disk full")), []);
  assert.deepEqual(eventsOf(new AggregateError([new Error("a"), new Error("b")], "[a, b]")), []);
});

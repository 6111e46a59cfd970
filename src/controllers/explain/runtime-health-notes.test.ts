import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import { RUNTIME_UNKNOWN, type RuntimeHealth } from "../../domain/node/runtime-health.ts";
import { JournalEventSink, teeEventSink } from "./journal-event-sink.ts";
import { noteRuntimeHealth } from "./runtime-health-notes.ts";

function begin() {
  const clock = new ManualClock();
  const noted: string[] = [];
  const note = (record: JournalRecord) => {
    assert.equal(record.kind, "told");
    if (record.kind === "told") noted.push(`${record.pod}|${record.on}|${record.reason}|${record.why}|${record.times}`);
  };
  const journalEvents = new JournalEventSink({ note }, clock);
  const cells = {
    runtimeHealth: new LatestCell<RuntimeHealth>(RUNTIME_UNKNOWN),
  };
  const shutdown = new AbortController();
  const done = noteRuntimeHealth({ journalEvents, clock, ...cells }, shutdown.signal);
  const health = async (troubles: readonly string[]) => {
    const status = { conditions: [{ type: "RuntimeReady", status: true, reason: "", message: "" }], handlers: [] };
    const version = { name: "sim", version: "1", apiVersion: "v1" };
    cells.runtimeHealth.set({
      kind: "answered",
      status,
      version,
      readiness: "ready",
      troubles,
    } as unknown as RuntimeHealth);
    await clock.advance(0);
  };
  const end = async () => {
    shutdown.abort();
    await done;
  };
  return { clock, noted, journalEvents, cells, health, end };
}

test("a runtime problem is journaled when its text changes by more than numbers, and once when it ends", async () => {
  const { clock, noted, health, end } = begin();
  await health(["it has only begun"]);
  assert.deepEqual(noted, []);
  await clock.advance(6_000);
  await health([]);
  for (let seconds = 1; seconds < 50; seconds += 1) await health([`last seen ${seconds}.5s ago`]);
  await health([]);
  assert.deepEqual(noted, ["|runtime|RuntimeNotReady|last seen 1.5s ago|1", "|runtime|RuntimeReady||1"]);
  await end();
});

test("pod events are emitted and journaled; Node events and events without a UID are only emitted", async () => {
  const { noted, journalEvents, end } = begin();
  const reported: string[] = [];
  const sink = teeEventSink({ emit: (_, type, reason) => reported.push(`${type} ${reason}`) }, journalEvents);
  const name = { namespace: "shop", name: "web" };
  sink.emit({ kind: "Pod", ...name, uid: "u1", fieldPath: "spec.containers{app}" }, "Warning", "Failed", "Error: no");
  sink.emit({ kind: "Pod", ...name, uid: "" }, "Warning", "Failed", "of nobody");
  sink.emit({ kind: "Node", name: "n1", namespace: "", uid: "" }, "Normal", "Starting", "Starting kubelet.");
  assert.deepEqual(reported, ["Warning Failed", "Warning Failed", "Normal Starting"]);
  assert.deepEqual(noted, ["shop/web|spec.containers{app}|Failed|Error: no|1"]);
  await end();
});

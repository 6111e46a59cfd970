import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import type { WaitInputs } from "../../domain/node/node-waits.ts";
import { NO_REPORT, type NodeReport } from "../../domain/node/own-node.ts";
import { RUNTIME_UNKNOWN } from "../../domain/node/runtime-health.ts";
import { watchNodeStates } from "./watch-node-states.ts";

test("conditions are journaled at once, waits only after the first five seconds of the agent", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const records: JournalRecord[] = [];
  const nodeReport = new LatestCell<NodeReport>(NO_REPORT);
  const sourcesReady = new LatestCell(false);
  const waitInputs = (): WaitInputs => ({
    nowWallMs: clock.wallMs(),
    runtime: RUNTIME_UNKNOWN,
    qosCgroups: { kind: "ready" },
    sourcesReady: sourcesReady.value,
    cluster: undefined,
  });
  const journal = { note: (record: JournalRecord) => void records.push(record) };
  const watching = watchNodeStates({ journal, clock, nodeReport, waitInputs, waitCells: [sourcesReady] }, stop.signal);
  const subjects = () =>
    records.map((record) => (record.kind === "nodeState" ? `${record.subject} ${record.state}` : ""));
  nodeReport.set({ conditions: [{ type: "Ready", status: "False", reason: "R", message: "m" }], trouble: "" });
  await clock.advance(0);
  assert.deepEqual(subjects(), ["condition/Ready False"]);
  await clock.advance(5_000);
  assert.deepEqual(subjects().slice(1), ["wait/the container runtime waiting", "wait/the pod sources waiting"]);
  sourcesReady.set(true);
  await clock.advance(0);
  assert.deepEqual(subjects().slice(3), ["wait/the pod sources ended"]);
  stop.abort();
  await watching;
});

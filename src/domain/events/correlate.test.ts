import assert from "node:assert/strict";
import { test } from "node:test";
import { EventCorrelator, usualLimits } from "./correlate.ts";
import { eventName, eventObject, eventPatch, nodeSubject, podSubject, type RecordedEvent } from "./recorded-event.ts";

const web = podSubject(
  { metadata: { name: "web", namespace: "ns", uid: "u1", resourceVersion: "7" } },
  "spec.containers{app}",
);

const event = (message: string, more: Partial<RecordedEvent> = {}): RecordedEvent => ({
  subject: web,
  type: "Warning",
  reason: "BackOff",
  message,
  wallMs: 1_700_000_000_000,
  ...more,
});

const fresh = (burst = 1000) => new EventCorrelator({ ...usualLimits, burst });

/** "name xN message", or "-" where nothing is written. */
const reported = (correlator: EventCorrelator, one: RecordedEvent, name: string, nowMs = 0) => {
  const result = correlator.observe(one, name, nowMs);
  return result.kind === "dropped"
    ? "-"
    : `${result.first ? "new " : ""}${result.counted.name} x${result.counted.count} ${result.counted.message}`;
};

test("[23.1] a repeated event increments the first one's count and keeps its name and first timestamp", () => {
  const correlator = fresh();
  assert.equal(reported(correlator, event("a"), "e1"), "new e1 x1 a");
  const again = correlator.observe(event("a", { wallMs: 1_700_000_005_000 }), "e2", 5000);
  assert.deepEqual(again.kind === "write" ? again.counted : undefined, {
    name: "e1",
    count: 2,
    firstWallMs: 1_700_000_000_000,
    lastWallMs: 1_700_000_005_000,
    message: "a",
  });
});

test("[23.1] another message, reason, type, field or object is another event", () => {
  const correlator = fresh();
  const others = [
    event("a"),
    event("b"),
    event("a", { reason: "Failed" }),
    event("a", { type: "Normal" }),
    event("a", { subject: { ...web, fieldPath: "spec.containers{other}" } }),
    event("a", { subject: { ...web, uid: "u2" } }),
  ];
  assert.deepEqual(
    others.map((one, index) => reported(correlator, one, `e${index}`).slice(0, 9)),
    ["new e0 x1", "new e1 x1", "new e2 x1", "new e3 x1", "new e4 x1", "new e5 x1"],
  );
});

test("[23.1] the tenth similar message within ten minutes and those after it are combined into one event", () => {
  const correlator = fresh();
  const lines = Array.from({ length: 12 }, (_, index) =>
    reported(correlator, event(`m${index + 1}`), `e${index + 1}`, index),
  );
  assert.deepEqual(lines.slice(8), [
    "new e9 x1 m9",
    "new e10 x1 (combined from similar events): m10",
    "e10 x2 (combined from similar events): m11",
    "e10 x3 (combined from similar events): m12",
  ]);
  assert.equal(reported(correlator, event("m3"), "e13", 20), "e3 x2 m3");
});

test("[23.1] after ten minutes without similar messages they are separate events again", () => {
  const correlator = fresh();
  for (let index = 1; index <= 11; index += 1) reported(correlator, event(`m${index}`), `e${index}`, 0);
  assert.equal(reported(correlator, event("late"), "e12", 600_000), "e10 x3 (combined from similar events): late");
  assert.equal(reported(correlator, event("later"), "e13", 1_200_001), "new e13 x1 later");
});

test("[23.1] an object may have 25 events at once, then one per five minutes; others are not affected", () => {
  const correlator = fresh(25);
  const tell = (nowMs: number) => reported(correlator, event("a"), "e1", nowMs) !== "-";
  const atOnce = Array.from({ length: 30 }, () => tell(0));
  assert.equal(atOnce.filter(Boolean).length, 25);
  assert.deepEqual([tell(299_000), tell(300_000), tell(301_000), tell(600_000)], [false, true, false, true]);
  assert.equal(reported(correlator, event("a", { subject: { ...web, name: "other" } }), "e2", 301_000), "new e2 x1 a");
  assert.equal(reported(correlator, event("a", { type: "Normal" }), "e3", 301_000), "new e3 x1 a");
});

test("[23.1] events dropped by the rate limit still increase the count", () => {
  const correlator = fresh(2);
  for (let index = 0; index < 10; index += 1) reported(correlator, event("a"), "e1", 0);
  assert.equal(reported(correlator, event("a"), "e1", 300_000), "e1 x11 a");
});

test("the number of remembered events is limited", () => {
  const correlator = new EventCorrelator({ ...usualLimits, rememberedMax: 2 });
  for (const message of ["a", "b", "c"]) reported(correlator, event(message), message);
  assert.equal(reported(correlator, event("c"), "x"), "c x2 c");
  assert.equal(reported(correlator, event("a"), "y"), "new y x1 a");
});

const counted = {
  name: "web.17",
  count: 2,
  firstWallMs: 1_700_000_000_999,
  lastWallMs: 1_700_000_005_000,
  message: "m",
};

test("[23.1] a pod's event is in its namespace and has source, involved object and times in whole seconds", () => {
  assert.deepEqual(
    eventObject(event("m", { annotations: { a: "b" } }), counted, { component: "kubelet", host: "n1" }),
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "web.17", namespace: "ns", annotations: { a: "b" } },
      involvedObject: {
        kind: "Pod",
        apiVersion: "v1",
        name: "web",
        namespace: "ns",
        uid: "u1",
        resourceVersion: "7",
        fieldPath: "spec.containers{app}",
      },
      type: "Warning",
      reason: "BackOff",
      message: "m",
      count: 2,
      firstTimestamp: "2023-11-14T22:13:20Z",
      lastTimestamp: "2023-11-14T22:13:25Z",
      source: { component: "kubelet", host: "n1" },
      reportingComponent: "kubelet",
      reportingInstance: "n1",
    },
  );
  assert.deepEqual(eventPatch(counted), { count: 2, lastTimestamp: "2023-11-14T22:13:25Z", message: "m" });
});

test("[23.1] an event of the node is in the default namespace and names it without a UID", () => {
  const object = eventObject(event("m", { subject: nodeSubject("n1") }), counted, { component: "kubelet", host: "n1" });
  assert.equal(object.metadata.namespace, "default");
  assert.deepEqual(object.involvedObject, { kind: "Node", apiVersion: "v1", name: "n1" });
});

test("[23.1] an event is named after its object and the time in hex, or by a fallback if that is invalid", () => {
  assert.equal(eventName("web", 0x17_0000_0000_0000n, "spare"), "web.17000000000000");
  assert.equal(eventName("Web", 1n, "spare"), "spare");
  assert.equal(eventName("w".repeat(250), 1_700_000_000_000_000_000n, "spare"), "spare");
});

/**
 * Events written by the recorder to a real API server with a node's own identity, compared with events that a Go
 * kubelet wrote.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Event } from "../../src/api/gen/core-v1.ts";
import { EventRecorder } from "../../src/controllers/events/event-recorder.ts";
import type { EventSubject } from "../../src/domain/events/recorded-event.ts";
import { nodeSubject } from "../../src/domain/events/recorded-event.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { hostRandom } from "../../src/wire/host/random.ts";
import type { KubeApi } from "../../src/wire/kube-api/client.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { keptLog } from "../support/quiet-log.ts";
import { clientOf, identityOf } from "./api-world.ts";

/** Written by a Go kubelet v1.36.4: the second BackOff event of a container, and the node's Starting event. */
const GOLDEN = join(import.meta.dirname, "..", "golden", "go-kubelet-events.json");

const web = (uid: string, fieldPath?: string): EventSubject => ({
  kind: "Pod",
  name: `web-${uid}`,
  namespace: "default",
  uid,
  ...(fieldPath === undefined ? {} : { fieldPath }),
});

/** Fields with the same value in every event of a kubelet, or in these two events because of the test's input. */
const fixed = /^\.(?:apiVersion|kind|type|reason|count|source\..*|reporting.*|involvedObject\.kind)$/;

/** Every field with its type, or with its value where that is fixed. */
function shape(value: unknown, path = ""): readonly string[] {
  if (typeof value === "object" && value !== null) {
    return Object.entries(value)
      .flatMap(([key, item]) => shape(item, `${path}.${key}`))
      .toSorted();
  }
  return [`${path}: ${fixed.test(path) || value === null ? JSON.stringify(value) : typeof value}`];
}

describe("events, written to a real API server", () => {
  let cluster: Cluster;
  let api: KubeApi;
  let recorder: EventRecorder;
  const shutdown = new AbortController();
  let running: Promise<void>;

  before(async () => {
    cluster = await startCluster({ controlPlane: "api", nodes: [] });
    api = await clientOf(cluster, { credentials: await identityOf(cluster, "system:node:n1", ["system:nodes"]) });
    recorder = new EventRecorder(
      { api, clock: hostClock, random: hostRandom, log: keptLog() },
      { nodeName: "n1", eventRecordQps: 50, eventBurst: 100 },
    );
    running = recorder.run(shutdown.signal);
  });

  after(async () => {
    shutdown.abort(new Error("the test has ended"));
    await running;
    await api.close();
    await cluster.down();
  });

  const eventsOf = async (subject: EventSubject): Promise<readonly Event[]> => {
    const selector = `--field-selector=involvedObject.name=${subject.name}`;
    const text = await cluster.kubectl("get", "events", "-n", "default", selector, "-o", "json");
    return (JSON.parse(text) as { items: readonly Event[] }).items;
  };
  const settled = async (subject: EventSubject, is: (events: readonly Event[]) => boolean) => {
    let found: readonly Event[] = [];
    await waitUntil(`events of ${subject.name}`, 15_000, async () => is((found = await eventsOf(subject))));
    return found;
  };
  /** Emits the messages one by one, and waits until the server has the first event. */
  const tell = async (subject: EventSubject, messages: readonly string[], type: "Normal" | "Warning" = "Warning") => {
    for (const [index, message] of messages.entries()) {
      recorder.emit(subject, type, "BackOff", message);
      if (index === 0) await settled(subject, (events) => events.length > 0);
    }
  };

  test("[23.1] the same event emitted three times is one Event with a count of three", async () => {
    const subject = web("same");
    await tell(subject, ["a", "a", "a"]);
    const [event, ...others] = await settled(subject, ([one]) => one?.count === 3);
    assert.deepEqual(others, []);
    assert.match(event?.metadata.name ?? "", /^web-same\.[0-9a-f]{16}$/);
    assert.match(await cluster.kubectl("get", "events", "-n", "default"), /Warning +BackOff +pod\/web-same +a/);
  });

  test("[23.1] similar events are combined into one from the tenth on", async () => {
    const subject = web("similar");
    const messages = Array.from({ length: 14 }, (_, index) => `attempt ${index + 1} failed`);
    await tell(subject, messages);
    const combined = "(combined from similar events): ";
    const events = await settled(subject, (all) =>
      all.some(({ count, message }) => count === 5 && message?.startsWith(combined)),
    );
    assert.equal(events.length, 10);
    const one = events.find(({ message }) => message?.startsWith(combined));
    assert.deepEqual([one?.message, one?.count], [`${combined}attempt 14 failed`, 5]);
  });

  test("[23.1] at most 25 events of one object are written at once", async () => {
    const subject = web("spam");
    await tell(
      subject,
      Array.from({ length: 40 }, () => "again"),
    );
    const other = web("other");
    await tell(other, ["heard"]);
    const [event] = await settled(subject, ([one]) => (one?.count ?? 0) >= 25);
    assert.equal(event?.count, 25);
  });

  test("[23.1] events of a container and of the node have the same fields as the Go kubelet's", async () => {
    const golden = JSON.parse(await readFile(GOLDEN, "utf8")) as { readonly pod: Event; readonly node: Event };
    const { involvedObject } = golden.pod;
    const subject: EventSubject = {
      kind: "Pod",
      name: involvedObject.name ?? "",
      namespace: "default",
      uid: involvedObject.uid ?? "",
      resourceVersion: involvedObject.resourceVersion ?? "",
      fieldPath: involvedObject.fieldPath ?? "",
    };
    const message = golden.pod.message ?? "";
    await tell(subject, [message, message]);
    const [ours] = await settled(subject, ([one]) => one?.count === 2);
    assert.deepEqual(shape(ours), shape(golden.pod));
    assert.deepEqual({ ...ours?.involvedObject }, golden.pod.involvedObject);
    recorder.emit(nodeSubject("n1"), "Normal", "Starting", "Starting kubelet.");
    const [node] = await settled(nodeSubject("n1"), (events) => events.length > 0);
    assert.deepEqual(shape(node), shape(golden.node));
    assert.deepEqual(node?.involvedObject, { apiVersion: "v1", kind: "Node", name: "n1" });
  });

  test("no event is dropped except by the limit per object", () => {
    assert.equal(recorder.dropped, 0);
  });
});

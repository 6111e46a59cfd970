import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { Event } from "../../api/gen/core-v1.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { nodeSubject, podSubject } from "../../domain/events/recorded-event.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import { ApiError, ApiUnreachableError } from "../../ports/api-error.ts";
import type { ApiObject, ObjectName, Patch, Resource } from "../../ports/api-server.ts";
import { EVENTS_QUEUED_MAX } from "../limits.ts";
import { EventRecorder } from "./event-recorder.ts";
import { logEventSink } from "./log-sink.ts";

const web = podSubject({ metadata: { name: "web", namespace: "ns", uid: "u1" } });

/** Stores events by name; `trouble` makes a call fail before or after its effect. */
class EventStore {
  readonly calls: string[] = [];
  readonly events = new Map<string, Event>();
  trouble: (call: string) => { readonly when: "before" | "after"; readonly error: Error } | undefined = () => undefined;

  async create<T extends ApiObject>(_resource: Resource<T>, object: T): Promise<T> {
    const event = object as unknown as Event;
    const name = event.metadata.name ?? "";
    return await this.#call(`create x${event.count} ${event.message}`, () => {
      if (this.events.has(name)) throw new ApiError("POST", 409, "AlreadyExists", name);
      this.events.set(name, event);
      return object;
    });
  }

  async patch<T extends ApiObject>(_resource: Resource<T>, { name }: ObjectName, { body }: Patch): Promise<T> {
    const change = body as { count: number; message: string };
    return await this.#call(`patch x${change.count} ${change.message}`, () => {
      const before = this.events.get(name);
      if (before === undefined) throw new ApiError("PATCH", 404, "NotFound", name);
      const after = { ...before, ...change };
      this.events.set(name, after);
      return after as unknown as T;
    });
  }

  #call<T>(call: string, effect: () => T): Promise<T> {
    this.calls.push(call);
    const trouble = this.trouble(call);
    if (trouble?.when === "before") return Promise.reject(trouble.error);
    return Promise.resolve()
      .then(effect)
      .then((result) => {
        if (trouble !== undefined) throw trouble.error;
        return result;
      });
  }
}

interface Options {
  readonly qps?: number;
  readonly burst?: number;
  readonly ownNode?: LatestCell<OwnNode>;
}

function start({ qps = 50, burst = 100, ...node }: Options = {}) {
  const clock = new ManualClock();
  const api = new EventStore();
  const log = keptLog();
  const stop = new AbortController();
  const random = { fraction: () => 0.5, uuid: () => "uuid" };
  const recorder = new EventRecorder(
    { api, clock, random, log, ...node },
    { nodeName: "n1", eventRecordQps: qps, eventBurst: burst },
  );
  const ended = recorder.run(stop.signal);
  const tell = (message: string) => recorder.emit(web, "Warning", "BackOff", message);
  return { clock, api, log, stop, recorder, ended, tell };
}

const unreachable = (mayHaveHappened: boolean) => new ApiUnreachableError("POST", "connection reset", mayHaveHappened);

test("[23.1] the first event is created, a repetition patches its count, and events of one moment have different names", async () => {
  const { clock, api, tell } = start();
  tell("a");
  tell("b");
  await clock.advance(0);
  tell("a");
  await clock.advance(0);
  assert.deepEqual(api.calls, ["create x1 a", "create x1 b", "patch x2 a"]);
  assert.deepEqual(
    [...api.events.values()].map(({ count }) => count),
    [2, 1],
  );
});

test("[23.1] an event emitted five times before the first write is created once with count 5", async () => {
  const { clock, api, tell } = start();
  for (let times = 0; times < 5; times += 1) tell("a");
  await clock.advance(0);
  assert.deepEqual(api.calls, ["create x5 a"]);
});

test("an event that the API server no longer has is created again with its full count", async () => {
  const { clock, api, tell } = start();
  tell("a");
  await clock.advance(0);
  api.events.clear();
  tell("a");
  await clock.advance(0);
  assert.deepEqual(api.calls, ["create x1 a", "patch x2 a", "create x2 a"]);
});

test("events are queued and aggregated while the API server is unreachable, then written in order", async () => {
  const { clock, api, tell, recorder } = start();
  api.trouble = () => ({ when: "before", error: unreachable(false) });
  tell("a");
  tell("b");
  await clock.advance(20_000);
  tell("a");
  api.trouble = () => undefined;
  await clock.advance(20_000);
  assert.deepEqual(api.calls.slice(-2), ["create x2 a", "create x1 b"]);
  assert.equal(recorder.dropped, 0);
});

test("a create whose answer is lost makes no second event: the existing one is patched", async () => {
  const { clock, api, tell, recorder } = start();
  let lose = true;
  api.trouble = () => (lose ? { when: "after", error: unreachable(true) } : undefined);
  tell("a");
  await clock.advance(0);
  lose = false;
  tell("a");
  await clock.advance(20_000);
  assert.deepEqual(api.calls, ["create x1 a", "create x2 a", "patch x2 a"]);
  assert.deepEqual([api.events.size, recorder.dropped], [1, 0]);
});

test("an event that the API server forbids is dropped at once and does not delay others", async () => {
  const { clock, api, tell, recorder } = start();
  const refused = new ApiError("POST", 403, "Forbidden", "the namespace is being terminated");
  api.trouble = (call) => (call.endsWith(" a") ? { when: "before", error: refused } : undefined);
  tell("a");
  tell("b");
  await clock.advance(0);
  assert.deepEqual(api.calls, ["create x1 a", "create x1 b"]);
  assert.equal(recorder.dropped, 1);
});

test("an event is dropped and counted after twelve failed writes", async () => {
  const { clock, api, tell, recorder } = start();
  api.trouble = () => ({ when: "before", error: unreachable(false) });
  tell("a");
  await clock.advance(104_000);
  assert.deepEqual([api.calls.length, recorder.dropped], [11, 0]);
  await clock.advance(10_000);
  assert.deepEqual([api.calls.length, recorder.dropped], [12, 1]);
});

test("events beyond EVENTS_QUEUED_MAX are dropped and counted", async () => {
  const { clock, api, recorder } = start();
  api.trouble = () => ({ when: "before", error: unreachable(false) });
  for (let index = 0; index < EVENTS_QUEUED_MAX + 100; index += 1) {
    recorder.emit({ ...web, name: `p${index}`, uid: `u${index}` }, "Normal", "Started", "m");
  }
  await clock.advance(0);
  assert.equal(recorder.dropped, 100);
});

test("[23.1] writes are limited to a burst of 100 and then 50 per second", async () => {
  const { clock, api, recorder } = start({ qps: 50, burst: 100 });
  for (let index = 0; index < 300; index += 1) {
    recorder.emit({ ...web, name: `p${index}`, uid: `u${index}` }, "Normal", "Started", "m");
  }
  await clock.advance(0);
  assert.equal(api.calls.length, 100);
  await clock.advance(2000);
  assert.equal(api.calls.length, 200);
});

test("eventRecordQPS 0 means no limit", async () => {
  const { clock, api, recorder } = start({ qps: 0 });
  for (let index = 0; index < 300; index += 1) {
    recorder.emit({ ...web, name: `p${index}`, uid: `u${index}` }, "Normal", "Started", "m");
  }
  await clock.advance(0);
  assert.equal(api.calls.length, 300);
});

test("[23.1] Node events wait until the Node's UID is known, and carry it", async () => {
  const ownNode = new LatestCell<OwnNode>({ kind: "unknown" });
  const { clock, api, recorder, tell } = start({ ownNode });
  recorder.emit(nodeSubject("n1"), "Normal", "Starting", "Starting kubelet.");
  tell("later");
  await clock.advance(1_000);
  ownNode.set({ kind: "absent" });
  await clock.advance(1_000);
  assert.deepEqual(api.calls, []);
  ownNode.set({ kind: "present", node: { metadata: { name: "n1", uid: "u-n1" } } });
  await clock.advance(0);
  assert.deepEqual(api.calls, ["create x1 Starting kubelet.", "create x1 later"]);
  assert.deepEqual(
    [...api.events.values()].map(({ involvedObject }) => involvedObject.uid),
    ["u-n1", "u1"],
  );
});

test("[23.1] Node events are written without a UID if the Node is still unknown after five seconds", async () => {
  const ownNode = new LatestCell<OwnNode>({ kind: "unknown" });
  const { clock, api, recorder } = start({ ownNode });
  recorder.emit(nodeSubject("n1"), "Normal", "Starting", "Starting kubelet.");
  await clock.advance(4_999);
  assert.deepEqual(api.calls, []);
  await clock.advance(1);
  recorder.emit(nodeSubject("n1"), "Normal", "Other", "at once");
  await clock.advance(0);
  assert.deepEqual(api.calls, ["create x1 Starting kubelet.", "create x1 at once"]);
  const [event] = api.events.values();
  assert.deepEqual(event?.involvedObject, { kind: "Node", apiVersion: "v1", name: "n1" });
  assert.equal(clock.timersPending, 0);
});

test("the recorder ends with its signal, also while it waits for the API server", async () => {
  const { clock, api, tell, stop, ended } = start();
  api.trouble = () => ({ when: "before", error: unreachable(false) });
  tell("a");
  await clock.advance(0);
  stop.abort(new Error("shutdown"));
  await ended;
  assert.equal(clock.timersPending, 0);
});

test("without an API server events are logged", () => {
  const log = keptLog();
  logEventSink(log, 2).emit(web, "Normal", "Started", "Started container app");
  assert.deepEqual(log.lines, [
    '2 Event occurred {"object":"ns/web","kind":"Pod","type":"Normal","reason":"Started","message":"Started container app"}',
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../sim/virtual-clock.ts";
import { ApiError, ApiUnreachableError } from "../ports/api-error.ts";
import type { ApiObject, ApiServer, ListOptions, Page, Resource, WatchEvent, WatchStart } from "../ports/api-server.ts";
import { startInformer } from "./informer.ts";

const things: Resource<ApiObject> = { group: "", version: "v1", kind: "Thing", plural: "things", namespaced: true };

const thing = (name: string, resourceVersion: string, uid = `uid-${name}`): ApiObject => ({
  metadata: { name, namespace: "ns", uid, resourceVersion },
});
const added = (object: ApiObject): WatchEvent<ApiObject> => ({ kind: "added", object });
const deleted = (object: ApiObject): WatchEvent<ApiObject> => ({ kind: "deleted", object });
const bookmark = (resourceVersion: string, initialEventsEnd = false): WatchEvent<ApiObject> => ({
  kind: "bookmark",
  resourceVersion,
  initialEventsEnd,
});

/** One watch: its events, then how it continues. A function runs when its step is reached. */
type Script = readonly (WatchEvent<ApiObject> | Error | "stay" | ((clock: VirtualClock) => Promise<void>))[];
type PageScript = Page<ApiObject> | Error;

/** Plays one script per watch and one page per list. Without further scripts a watch stays open without events. */
class ScriptedApi implements Pick<ApiServer, "list" | "watch"> {
  readonly starts: string[] = [];
  readonly lists: ListOptions[] = [];
  readonly #watches: Script[];
  readonly #pages: PageScript[];
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock, watches: readonly Script[], pages: readonly PageScript[] = []) {
    this.#clock = clock;
    this.#watches = [...watches];
    this.#pages = [...pages];
  }

  list<T extends ApiObject>(_r: Resource<T>, _s: unknown, options: ListOptions): Promise<Page<T>> {
    this.lists.push(options);
    const page = this.#pages.shift() ?? new Error("no page scripted");
    return page instanceof Error ? Promise.reject(page) : Promise.resolve(page as Page<T>);
  }

  async *watch<T extends ApiObject>(
    _r: Resource<T>,
    _s: unknown,
    start: WatchStart,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    this.starts.push(start.kind === "after" ? start.resourceVersion : start.kind);
    for (const step of this.#watches.shift() ?? ["stay"]) {
      if (step === "stay") await aborted(signal);
      else if (step instanceof Error) throw step;
      else if (typeof step === "function") await step(this.#clock);
      else yield step as WatchEvent<T>;
    }
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

function run(watches: readonly Script[], pages: readonly PageScript[] = []) {
  const clock = new VirtualClock();
  const api = new ScriptedApi(clock, watches, pages);
  const stop = new AbortController();
  const troubles: string[] = [];
  const informer = startInformer(
    {
      api,
      resource: things,
      selection: {},
      clock,
      random: { fraction: () => 0.5, uuid: () => "" },
      onTrouble: (detail) => troubles.push(detail),
    },
    stop.signal,
  );
  const names = () => [...informer.store.value.objects.keys()];
  return { clock, api, stop, troubles, informer, names };
}

const expired = () => new ApiError("WATCH things", 410, "Expired", "too old resource version");
const cut = () => new ApiUnreachableError("WATCH things", "the connection was reset", true);
const down = () => new ApiUnreachableError("WATCH things", "connect ECONNREFUSED", false);
const full = [added(thing("a", "1")), bookmark("5", true)];

void test("informer publishes the initial list in one change, once it is complete", async () => {
  const release = Promise.withResolvers<void>();
  const { clock, informer, names, stop } = run([
    [added(thing("a", "1")), added(thing("b", "2")), () => release.promise, bookmark("5", true), "stay"],
  ]);
  await clock.advance(0);
  assert.deepEqual([informer.store.value.synced, names()], [false, []]);
  release.resolve();
  await clock.advance(0);
  assert.deepEqual([informer.store.value.synced, names(), informer.store.version], [true, ["ns/a", "ns/b"], 1]);
  stop.abort();
  await informer.ended;
});

void test("informer applies watch events without changing store values that were already read", async () => {
  const gate = Promise.withResolvers<void>();
  const { clock, informer, names } = run([
    [...full, () => gate.promise, added(thing("b", "6")), deleted(thing("a", "7")), "stay"],
  ]);
  await clock.advance(0);
  const before = informer.store.value;
  gate.resolve();
  await clock.advance(0);
  assert.deepEqual([[...before.objects.keys()], names()], [["ns/a"], ["ns/b"]]);
});

void test("informer resumes a broken watch at the last resourceVersion of an event or a bookmark", async () => {
  const { clock, api, names } = run([
    [...full, added(thing("b", "6")), cut()],
    [bookmark("9"), cut()],
    [added(thing("c", "10")), "stay"],
  ]);
  await clock.advance(10_000);
  assert.deepEqual(api.starts, ["initialEvents", "6", "9"]);
  assert.deepEqual(names(), ["ns/a", "ns/b", "ns/c"]);
});

void test("informer relists at once after 410 Expired and replaces the store in one change", async () => {
  const { clock, api, informer, names } = run([
    [...full, expired()],
    [added(thing("b", "20")), bookmark("21", true), "stay"],
  ]);
  await clock.advance(0);
  assert.deepEqual([api.starts, names()], [["initialEvents", "initialEvents"], ["ns/b"]]);
  assert.equal(informer.store.version, 2);
});

void test("informer backs off when every watch ends with 410 Expired", async () => {
  const { clock, api } = run(Array.from({ length: 50 }, () => [...full, expired()]));
  await clock.advance(10_000);
  // Retries follow at once, then after 1.6, 3.2 and 6.4 s; the last is beyond the 10 s.
  assert.equal(api.starts.length, 4);
});

for (const status of [400, 422]) {
  void test(`informer lists in pages after the server rejects streaming lists with ${status}`, async () => {
    const { clock, api, names } = run(
      [[new ApiError("WATCH things", status, "Invalid", "sendInitialEvents is forbidden")], [expired()], ["stay"]],
      [
        { items: [thing("a", "1")], resourceVersion: "30", continueToken: "more" },
        { items: [thing("b", "2")], resourceVersion: "30" },
        { items: [thing("c", "3")], resourceVersion: "40" },
      ],
    );
    await clock.advance(5000);
    assert.deepEqual(api.starts, ["initialEvents", "30", "40"]);
    assert.deepEqual(api.lists, [{ limit: 500 }, { limit: 500, continueToken: "more" }, { limit: 500 }]);
    assert.deepEqual(names(), ["ns/c"]);
  });
}

void test("informer lists in pages when a streaming list ends without its final bookmark", async () => {
  const { clock, api, names } = run(
    [[added(thing("a", "1"))], ["stay"]],
    [{ items: [thing("b", "2")], resourceVersion: "7" }],
  );
  await clock.advance(2000);
  assert.deepEqual([api.starts, names()], [["initialEvents", "7"], ["ns/b"]]);
});

void test("informer restarts a paged list that expires between pages, and publishes no partial list", async () => {
  const { clock, informer, names } = run(
    [[new ApiError("WATCH things", 400, "BadRequest", "no")], ["stay"]],
    [
      { items: [thing("a", "1")], resourceVersion: "30", continueToken: "more" },
      expired(),
      { items: [thing("b", "2")], resourceVersion: "31" },
    ],
  );
  await clock.advance(2000);
  assert.deepEqual([names(), informer.store.version], [["ns/b"], 1]);
});

void test("informer replaces an object recreated with a new UID, and ignores a late DELETED event of the old UID", async () => {
  const old = thing("a", "8", "uid-1");
  const { clock, informer, names } = run([
    [added(thing("a", "1", "uid-1")), bookmark("5", true), added(thing("a", "9", "uid-2")), deleted(old), "stay"],
  ]);
  await clock.advance(0);
  assert.deepEqual(names(), ["ns/a"]);
  assert.equal(informer.store.value.objects.get("ns/a")?.metadata?.uid, "uid-2");
});

void test("informer reports an unexpected error and starts over with a new list", async () => {
  const { clock, api, troubles, names } = run([
    [...full, new TypeError("cannot read properties")],
    [added({ metadata: {} }), "stay"],
    [added(thing("z", "50")), bookmark("51", true), "stay"],
  ]);
  await clock.advance(10_000);
  assert.deepEqual(api.starts, ["initialEvents", "initialEvents", "initialEvents"]);
  assert.deepEqual(troubles, ["things: cannot read properties", "things: the server sent an object without a name"]);
  assert.deepEqual(names(), ["ns/z"]);
});

void test("informer's retry delay doubles from 0.8 s to 30 s, and resets after a minute without failure", async () => {
  const at: number[] = [];
  const note = (clock: VirtualClock) => Promise.resolve(void at.push(clock.monotonicMs()));
  const failing: Script = [note, down()];
  const healthy: Script = [note, (clock) => clockPasses(clock, 61_000), cut()];
  const { clock } = run([[...full, cut()], ...Array.from({ length: 7 }, () => failing), healthy, failing]);
  await clock.advance(300_000);
  const pauses = at.map((ms, index) => ms - (at[index - 1] ?? 0));
  assert.deepEqual(pauses, [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 61_800]);
});

/** Resolves when the clock has advanced by `ms`. */
const clockPasses = (clock: VirtualClock, ms: number) =>
  new Promise<void>((resolve) => void clock.after(ms, () => resolve()));

void test("informer backs off when watches end as soon as they start", async () => {
  const { clock, api, troubles } = run([[...full], ...Array.from({ length: 50 }, (): Script => [bookmark("6")])]);
  await clock.advance(5000);
  assert.equal(api.starts.length, 3);
  assert.match(troubles[0] ?? "", /ended as soon as it began/);
});

void test("informer reopens a watch at once, and reports nothing, when the server ends it after five minutes", async () => {
  const { clock, api, troubles } = run([[...full, (clock) => clockPasses(clock, 300_000)], ["stay"]]);
  await clock.advance(300_000);
  assert.deepEqual([api.starts, troubles], [["initialEvents", "5"], []]);
});

void test("informer retries a streaming list that is not complete within a minute", async () => {
  const { clock, api, troubles } = run([
    [added(thing("a", "1")), "stay"],
    [...full, "stay"],
  ]);
  await clock.advance(70_000);
  assert.equal(api.starts.length, 2);
  assert.match(troubles[0] ?? "", /not complete within 60000 ms/);
});

void test("informer keeps its resourceVersion while it cannot connect, and relists when a version breaks every watch", async () => {
  const gone = run([[...full, cut()], ...Array.from({ length: 20 }, (): Script => [down()]), ["stay"]]);
  await gone.clock.advance(3_600_000);
  assert.equal(gone.api.starts.at(-1), "5");
  const poisoned = run([[...full, cut()], [cut()], [cut()], [cut()], [...full, "stay"]]);
  await poisoned.clock.advance(60_000);
  assert.deepEqual(poisoned.api.starts, ["initialEvents", "5", "5", "5", "initialEvents"]);
});

void test("informer relists after 504 within one delay, and keeps its resourceVersion after 429", async () => {
  const tooLarge = run([
    [...full, new ApiError("WATCH", 504, "Timeout", "Too large resource version")],
    [...full, "stay"],
  ]);
  await tooLarge.clock.advance(1000);
  assert.deepEqual(tooLarge.api.starts, ["initialEvents", "initialEvents"]);
  const busy = run([[...full, new ApiError("WATCH", 429, "TooManyRequests", "later", 5000)], ["stay"]]);
  await busy.clock.advance(4999);
  assert.deepEqual(busy.api.starts, ["initialEvents"]);
  await busy.clock.advance(1);
  assert.deepEqual(busy.api.starts, ["initialEvents", "5"]);
});

void test("informer ends when its signal aborts, during a watch, a delay or a list, and leaves no timer", async () => {
  for (const script of [
    [...full, "stay"],
    [...full, cut()],
    [added(thing("a", "1")), "stay"],
  ] as const) {
    const { clock, informer, stop } = run([script]);
    await clock.advance(0);
    stop.abort(new Error("shutting down"));
    await informer.ended;
    assert.equal(clock.pending, 0);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { SourceState } from "../../domain/pod/desired-pod.ts";
import type { ApiObject, Resource, Selection, WatchEvent, WatchStart } from "../../ports/api-server.ts";
import { runApiSource } from "./api-source.ts";

const pod = (name: string, resourceVersion: string): ApiObject => ({
  metadata: { name, namespace: "ns", uid: `uid-${name}`, resourceVersion },
});

/** One watch that delivers the events that the test pushes. */
class PushedApi {
  readonly selections: string[] = [];
  readonly #events = new LatestCell<readonly WatchEvent<ApiObject>[]>([]);

  push(...events: readonly WatchEvent<ApiObject>[]): void {
    this.#events.set([...this.#events.value, ...events]);
  }

  list(): Promise<never> {
    return Promise.reject(new Error("a streaming list is enough"));
  }

  async *watch<T extends ApiObject>(
    resource: Resource<T>,
    selection: Selection,
    _start: WatchStart,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    this.selections.push(`${resource.plural} ${selection.namespace ?? "everywhere"} ${selection.fields ?? ""}`);
    for (let next = 0; ; next += 1) {
      while (this.#events.value.length <= next) await this.#events.changed(this.#events.version, signal);
      yield this.#events.value[next] as WatchEvent<T>;
    }
  }
}

test("[4.1] pods of all namespaces bound to this node are watched, only after the node has synced once", async () => {
  const clock = new ManualClock();
  const api = new PushedApi();
  const ownNode = new LatestCell<OwnNode>({ kind: "unknown" });
  const state = new LatestCell<SourceState>({ kind: "unseen" });
  const stop = new AbortController();
  const random = { fraction: () => 0.5, uuid: () => "" };
  const ended = runApiSource({ api, clock, random, log: keptLog(), ownNode, state, nodeName: "n1" }, stop.signal);
  const names = () => (state.value.kind === "seen" ? state.value.pods.map(({ metadata }) => metadata?.name) : "unseen");

  await clock.advance(60_000);
  assert.deepEqual(api.selections, []);
  ownNode.set({ kind: "absent" });
  api.push({ kind: "added", object: pod("a", "1") });
  await clock.advance(0);
  assert.deepEqual([api.selections, names()], [["pods everywhere spec.nodeName=n1"], "unseen"]);

  api.push({ kind: "bookmark", resourceVersion: "2", initialEventsEnd: true });
  await clock.advance(0);
  assert.deepEqual(names(), ["a"]);
  api.push({ kind: "added", object: pod("b", "3") }, { kind: "deleted", object: pod("a", "4") });
  await clock.advance(0);
  assert.deepEqual(names(), ["b"]);

  stop.abort(new Error("shutdown"));
  await ended;
  assert.equal(clock.timersPending, 0);
});

test("the source ends while it still waits for the Node", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const ended = runApiSource(
    {
      api: new PushedApi(),
      clock,
      random: { fraction: () => 0.5, uuid: () => "" },
      log: keptLog(),
      ownNode: new LatestCell<OwnNode>({ kind: "unknown" }),
      state: new LatestCell<SourceState>({ kind: "unseen" }),
      nodeName: "n1",
    },
    stop.signal,
  );
  stop.abort(new Error("shutdown"));
  await ended;
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { sandbox } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import { POD_UID_LABEL } from "../../domain/container-config/cri-keys.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { ContainerEvent } from "../../domain/runtime/container.ts";
import type { Sandbox, SandboxStatus } from "../../domain/runtime/sandbox.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { Pleg } from "./pleg.ts";
import { PodInspector } from "./pod-inspector.ts";

/**
 * A runtime that lists nothing or the given sandboxes, counts inspections of single pods, and sends the given events.
 */
function world(listed: readonly SandboxStatus[] = [], { eventless = false } = {}) {
  const clock = new ManualClock();
  const end = new AbortController();
  const inspected: string[] = [];
  const listsMs: number[] = [];
  const trouble: { list?: Error } = {};
  let breakStream = () => {};
  let send: (event: ContainerEvent) => void = () => {};
  const runtime = {
    listSandboxes: ({ labels }: { readonly labels?: Readonly<Record<string, string>> }) => {
      const [uid] = Object.values(labels ?? {});
      if (uid !== undefined) inspected.push(uid);
      else listsMs.push(clock.monotonicMs());
      const found = listed.filter(({ labels: own }) => uid === undefined || Object.values(own).includes(uid));
      return trouble.list === undefined ? Promise.resolve(found) : Promise.reject(trouble.list);
    },
    listContainers: () => Promise.resolve([]),
    sandboxStatus: (id: string) => {
      const found = listed.find((one) => one.id === id);
      return found === undefined
        ? Promise.reject(new Error("not listed"))
        : Promise.resolve({ status: found, info: {} });
    },
    containerStatus: () => Promise.reject(new Error("nothing is listed")),
    events: async function* (signal: AbortSignal) {
      if (eventless) throw new RuntimeError("GetContainerEvents", "unimplemented", "no events here");
      for (;;) {
        yield await new Promise<ContainerEvent>((resolve, reject) => {
          send = resolve;
          breakStream = () => reject(new Error("the stream broke"));
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
      }
    },
  };
  const listedSandboxes = new LatestCell<readonly Sandbox[] | undefined>(undefined);
  const podRuntimeStatus = new LatestTable<string, PodRuntimeView>();
  const inspector = new PodInspector({ runtime, podRuntimeStatus, listedSandboxes, shutdown: end.signal });
  const random = { fraction: () => 0, uuid: () => "" };
  const heartbeat = { beat: () => {} };
  const statusFailures = new LatestTable<string, string>();
  const pleg = new Pleg({
    runtime,
    inspector,
    listedSandboxes,
    statusFailures,
    clock,
    random,
    log: keptLog(),
    heartbeat,
  });
  const running = pleg.run(end.signal);
  return {
    clock,
    inspector,
    pleg,
    statusFailures,
    inspected,
    listsMs,
    trouble,
    breakStream: () => breakStream(),
    send: async (kind: ContainerEvent["kind"]) => {
      await clock.advance(0);
      send({ kind, podUid: "a", containerId: "c", wallNs: 0n });
      await clock.advance(0);
    },
    end: async () => {
      end.abort(new Error("over"));
      await running;
    },
  };
}

test("[10.1] [10.3] a stopped event inspects the pod at once; started and created events are deferred", async () => {
  const { clock, inspected, send, end } = world();
  await send("started");
  assert.deepEqual(inspected, []);
  await send("stopped");
  assert.deepEqual(inspected, ["a"]);
  await send("created");
  await clock.advance(499);
  assert.deepEqual(inspected, ["a"]);
  await clock.advance(501);
  assert.deepEqual(inspected, ["a", "a"]);
  await end();
});

test("a stopped event is deferred by at most 500 ms while the pod's worker acts", async () => {
  const { clock, inspector, inspected, send, end } = world();
  const mutation = inspector.mutating("a");
  await send("stopped");
  assert.deepEqual(inspected, []);
  await clock.advance(500);
  assert.deepEqual(inspected, ["a"], "a slow call delays the inspection by 500 ms");
  mutation[Symbol.dispose]();
  await send("stopped");
  assert.deepEqual(inspected, ["a", "a"]);
  await end();
});

test("an event that reports a known state is dropped, also when the state became known while the event was deferred", async () => {
  const known = sandbox({ id: "c", metadata: { ...sandbox().metadata, uid: "a" }, labels: { [POD_UID_LABEL]: "a" } });
  const listed: SandboxStatus[] = [];
  const { clock, inspector, inspected, send, end } = world(listed);
  await send("started");
  listed.push(known);
  await inspector.inspect("a", new AbortController().signal);
  assert.deepEqual(inspected, ["a"]);
  await clock.advance(5_000);
  await send("created");
  await clock.advance(5_000);
  assert.deepEqual(inspected, ["a"]);
  listed[0] = { ...known, state: "notReady" };
  await send("stopped");
  assert.deepEqual(
    [inspector.cached("a")?.sandboxes[0]?.state, inspected],
    ["notReady", ["a"]],
    "the stop was not known yet",
  );
  await end();
});

test("created and started events cause no inspection while the pod's worker acts", async () => {
  const { clock, inspector, inspected, send, end } = world();
  using _ = inspector.mutating("a");
  await send("created");
  await send("started");
  await clock.advance(60_000);
  assert.deepEqual(inspected, []);
  await end();
});

test("[10.1] a listing that matches the last inspection causes no second inspection", async () => {
  const known = sandbox();
  const { uid } = known.metadata;
  const { clock, inspected, end } = world([known]);
  await clock.advance(0);
  assert.deepEqual(inspected, [uid]);
  await clock.advance(300_000);
  await clock.advance(0);
  assert.deepEqual(inspected, [uid]);
  await end();
});

test("[10.1] [10.3] pods are listed at startup, every 30 s, and at once when the event stream breaks", async () => {
  const { clock, listsMs, breakStream, end } = world();
  await clock.advance(100_000);
  assert.deepEqual(listsMs, [0, 30_000, 60_000, 90_000]);
  breakStream();
  await clock.advance(0);
  assert.deepEqual(listsMs.slice(4), [100_000]);
  await end();
});

test("[10.1] [10.3] a runtime without events is listed every second", async () => {
  const { clock, listsMs, end } = world([], { eventless: true });
  await clock.advance(5_000);
  assert.deepEqual([...new Set(listsMs)], [0, 1_000, 2_000, 3_000, 4_000, 5_000]);
  await end();
});

test("[10.1] a sandbox without an event is found by the next listing", async () => {
  const listed: SandboxStatus[] = [];
  const { clock, inspected, end } = world(listed);
  await clock.advance(1_000);
  listed.push(sandbox());
  await clock.advance(29_000);
  await clock.advance(0);
  assert.deepEqual(inspected, [sandbox().metadata.uid]);
  await end();
});

test("[10.1] a pod whose status the runtime does not report is queried again after 0.1 to 3 s, and counts as failed until then", async () => {
  const { clock, inspected, statusFailures, send, trouble, end } = world();
  const failures: (string | undefined)[] = [];
  statusFailures.watch((uid) => failures.push(statusFailures.get(uid)));
  await clock.advance(1_000);
  trouble.list = new Error("no answer");
  await send("stopped");
  assert.deepEqual([inspected.length, failures], [1, ["no answer"]]);
  await clock.advance(99);
  assert.equal(inspected.length, 1);
  for (const [index, delayMs] of [1, 200, 400, 800, 1_600, 3_000, 3_000].entries()) {
    await clock.advance(delayMs);
    assert.equal(inspected.length, index + 2, `after ${delayMs} ms`);
  }
  delete trouble.list;
  await clock.advance(3_000);
  assert.deepEqual(failures, ["no answer", undefined]);
  const { length } = inspected;
  await clock.advance(10_000);
  assert.equal(inspected.length, length, "a reported status is not queried again");
  await end();
});

test("[10.4] the time of the last finished listing is kept, and a failed listing does not change it", async () => {
  const { clock, pleg, trouble, end } = world();
  assert.equal(pleg.lastListedMs, undefined);
  await clock.advance(31_000);
  assert.equal(pleg.lastListedMs, 30_000);
  trouble.list = new Error("no answer");
  await clock.advance(60_000);
  assert.equal(pleg.lastListedMs, 30_000);
  delete trouble.list;
  await clock.advance(3_000);
  assert.ok((pleg.lastListedMs ?? 0) > 90_000);
  await end();
});

test("[6.2][10.2] an inspection begins after its request, and later requests share one", async () => {
  const { clock, inspector, inspected, end } = world();
  const { signal } = new AbortController();
  const first = inspector.inspect("a", signal);
  const later = [inspector.inspect("a", signal), inspector.inspect("a", signal)];
  await Promise.all([first, ...later]);
  await clock.advance(0);
  assert.deepEqual(inspected, ["a", "a"], "one in progress, and one for all later requests");
  await end();
});

test("[27.3.9] a sandbox without labels is found by a full listing soon after its event; its deletion causes none", async () => {
  const listed: SandboxStatus[] = [];
  const { clock, inspector, inspected, listsMs, send, end } = world(listed);
  await clock.advance(1_000);
  listed.push(sandbox({ labels: {}, metadata: { name: "p", namespace: "ns", uid: "a", attempt: 0 } }));
  await send("started");
  await clock.advance(500);
  await clock.advance(0);
  assert.deepEqual(
    [listsMs, inspected],
    [
      [0, 1_500],
      ["a", "a"],
    ],
  );
  assert.equal((await inspector.inspect("a", new AbortController().signal)).sandboxes.length, 1);
  await send("deleted");
  listed.pop();
  await clock.advance(5_000);
  assert.deepEqual(listsMs, [0, 1_500], "a deleted sandbox causes no listing");
  await end();
});

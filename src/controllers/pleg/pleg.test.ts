import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { sandbox } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import { POD_UID_LABEL } from "../../domain/pod/cri-keys.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { ContainerEvent } from "../../domain/runtime/container.ts";
import type { Sandbox, SandboxStatus } from "../../domain/runtime/sandbox.ts";
import { Observer } from "./observer.ts";
import { Pleg } from "./pleg.ts";

/** A runtime that lists nothing, or the sandboxes it is given, counts the looks at single pods and tells the events it is given. */
function world(listed: readonly SandboxStatus[] = []) {
  const clock = new ManualClock();
  const end = new AbortController();
  const looks: string[] = [];
  let tell: (event: ContainerEvent) => void = () => {};
  const runtime = {
    listSandboxes: ({ labels }: { readonly labels?: Readonly<Record<string, string>> }) => {
      const [uid] = Object.values(labels ?? {});
      if (uid !== undefined) looks.push(uid);
      return Promise.resolve(listed);
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
      for (;;) {
        yield await new Promise<ContainerEvent>((resolve, reject) => {
          tell = resolve;
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
      }
    },
  };
  const listedSandboxes = new LatestCell<readonly Sandbox[] | undefined>(undefined);
  const podRuntimeStatus = new LatestTable<string, PodRuntimeView>();
  const observer = new Observer({ runtime, podRuntimeStatus, listedSandboxes, shutdown: end.signal });
  const random = { fraction: () => 0, uuid: () => "" };
  const pleg = new Pleg({ runtime, observer, listedSandboxes, clock, random, log: keptLog() });
  const running = pleg.run(end.signal);
  return {
    clock,
    observer,
    looks,
    tell: async (kind: ContainerEvent["kind"]) => {
      await clock.advance(0);
      tell({ kind, podUid: "a", containerId: "c", wallNs: 0n });
      await clock.advance(0);
    },
    end: async () => {
      end.abort(new Error("over"));
      await running;
    },
  };
}

test("an end is looked at at once, what came to be only after a while", async () => {
  const { clock, looks, tell, end } = world();
  await tell("started");
  assert.deepEqual(looks, []);
  await tell("stopped");
  assert.deepEqual(looks, ["a"]);
  await tell("created");
  await clock.advance(499);
  assert.deepEqual(looks, ["a"]);
  await clock.advance(501);
  assert.deepEqual(looks, ["a", "a"]);
  await end();
});

test("while the pod's worker acts even an end waits: the worker looks when its call returns", async () => {
  const { clock, observer, looks, tell, end } = world();
  const acting = observer.acting("a");
  await tell("stopped");
  assert.deepEqual(looks, []);
  await clock.advance(500);
  assert.deepEqual(looks, ["a"], "a call that takes long hides no end for long");
  acting[Symbol.dispose]();
  await tell("stopped");
  assert.deepEqual(looks, ["a", "a"]);
  await end();
});

test("a hint that tells what is known is dropped, also when it became known while the hint waited", async () => {
  const known = sandbox({ id: "c", metadata: { ...sandbox().metadata, uid: "a" }, labels: { [POD_UID_LABEL]: "a" } });
  const listed: SandboxStatus[] = [];
  const { clock, observer, looks, tell, end } = world(listed);
  await tell("started");
  listed.push(known);
  await observer.look("a", new AbortController().signal);
  assert.deepEqual(looks, ["a"]);
  await clock.advance(5_000);
  await tell("created");
  await clock.advance(5_000);
  assert.deepEqual(looks, ["a"]);
  await tell("stopped");
  assert.deepEqual(looks, ["a", "a"], "its end is not known");
  await end();
});

test("what a worker is making is left to it, however long it takes", async () => {
  const { clock, observer, looks, tell, end } = world();
  using _ = observer.acting("a");
  await tell("created");
  await tell("started");
  await clock.advance(60_000);
  assert.deepEqual(looks, []);
  await end();
});

test("a list that tells what a look has found asks for no second look", async () => {
  const known = sandbox();
  const { uid } = known.metadata;
  const { clock, looks, end } = world([known]);
  await clock.advance(0);
  assert.deepEqual(looks, [uid]);
  await clock.advance(300_000);
  await clock.advance(0);
  assert.deepEqual(looks, [uid]);
  await end();
});

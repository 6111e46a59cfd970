import assert from "node:assert/strict";
import { test } from "node:test";
import { instance, sandbox } from "../../../test/support/pods.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import type { PodContainer, PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { Observer } from "./observer.ts";

const ready = sandbox();
const { uid } = ready.metadata;
const forever = new AbortController().signal;
const nothing = { sandboxIds: [], containers: [] };
const idsOf = (view: PodRuntimeView | undefined) => view?.containers.map(({ id, state }) => `${id} ${state}`);

/** A runtime with one pod whose containers can be set; it records the calls. */
function world(first: readonly PodContainer[]) {
  const calls: string[] = [];
  const held: (() => void)[] = [];
  let containers = first;
  let holds = false;
  const gone = () => new RuntimeError("ContainerStatus", "notFound", "it is gone");
  const runtime = {
    listSandboxes: async () => {
      calls.push("list");
      const answer = [ready];
      if (holds) await new Promise<void>((resolve) => held.push(resolve));
      return answer;
    },
    listContainers: () => Promise.resolve(containers),
    sandboxStatus: () => Promise.resolve({ status: ready, info: {} }),
    containerStatus: (id: string) => {
      calls.push(id);
      const found = containers.find((one) => one.id === id);
      return found === undefined ? Promise.reject(gone()) : Promise.resolve({ status: found, info: {} });
    },
  };
  const podRuntimeStatus = new LatestTable<string, PodRuntimeView>();
  const observer = new Observer({
    runtime,
    podRuntimeStatus,
    listedSandboxes: new LatestCell<readonly Sandbox[] | undefined>(undefined),
    shutdown: forever,
  });
  return {
    observer,
    podRuntimeStatus,
    calls,
    set: (next: readonly PodContainer[]) => {
      containers = next;
    },
    hold: () => {
      holds = true;
    },
    release: () => {
      holds = false;
      for (const go of held.splice(0)) go();
    },
  };
}

test("an observed state is current until the pod is mutated, and again after an inspection that began afterwards", async () => {
  const { observer } = world([instance("app", "exited")]);
  assert.equal(observer.present(uid), undefined);
  await observer.look(uid, forever);
  assert.deepEqual(idsOf(observer.present(uid)), ["app-0 exited"]);
  {
    using _ = observer.acting(uid);
    assert.equal(observer.present(uid), undefined);
    await observer.look(uid, forever);
    assert.equal(observer.present(uid), undefined);
  }
  assert.equal(observer.present(uid), undefined);
  await observer.look(uid, forever);
  assert.deepEqual(idsOf(observer.present(uid)), ["app-0 exited"]);
});

test("an inspection that began before a mutation and ends after it is not current", async () => {
  const { observer, hold, release } = world([]);
  hold();
  const early = observer.look(uid, forever);
  observer.acting(uid)[Symbol.dispose]();
  release();
  await early;
  assert.equal(observer.present(uid), undefined);
});

test("a pod missing from the full listing has no containers, unless it was mutated since the listing began", () => {
  const { observer } = world([]);
  assert.equal(observer.present(uid), undefined, "nothing was listed yet");
  const { actsOver } = observer;
  observer.noteListing(new Map(), actsOver);
  assert.deepEqual(observer.present(uid), { uid, sandboxes: [], containers: [] });
  observer.acting(uid)[Symbol.dispose]();
  observer.noteListing(new Map(), actsOver);
  assert.equal(observer.present(uid), undefined);
  observer.noteListing(new Map(), observer.actsOver);
  assert.deepEqual(observer.present(uid), { uid, sandboxes: [], containers: [] });
  observer.noteListing(new Map([[uid, { sandboxes: [ready], containers: [] }]]), observer.actsOver);
  assert.equal(observer.present(uid), undefined, "listed, and not looked at yet");
});

test("after a mutation live containers are read again and created ones are added, without a listing", async () => {
  const [old, other] = [instance("app", "exited"), instance("other", "running")];
  const { observer, calls, set } = world([old, other]);
  await observer.look(uid, forever);
  const next = instance("app", "running", { restartCount: 1 });
  set([next, old, instance("other", "exited")]);
  calls.length = 0;
  const made = { sandboxIds: [], containers: [{ id: next.id, sandboxId: ready.id }] };
  const view = await observer.refresh(uid, made, forever);
  assert.deepEqual(idsOf(view)?.toSorted(), ["app-0 exited", "app-1 running", "other-0 exited"]);
  assert.deepEqual(calls.toSorted(), ["app-1", "other-0"]);
  assert.equal(observer.present(uid), view);
});

test("a created container that is already known appears once", async () => {
  const { observer } = world([instance("app", "exited"), instance("other", "running")]);
  await observer.look(uid, forever);
  const made = ["app-0", "other-0"].map((id) => ({ id, sandboxId: sandbox().id }));
  const view = await observer.refresh(uid, { sandboxIds: [], containers: made }, forever);
  assert.deepEqual(idsOf(view)?.toSorted(), ["app-0 exited", "other-0 running"]);
});

test("a container removed during a mutation is not in the refreshed state", async () => {
  const { observer, set } = world([instance("app", "running")]);
  await observer.look(uid, forever);
  set([]);
  assert.deepEqual(idsOf(await observer.refresh(uid, nothing, forever)), []);
});

test("a refresh during an inspection inspects the pod in full afterwards", async () => {
  const { observer, calls, hold, release, set } = world([]);
  hold();
  const early = observer.look(uid, forever);
  const after = observer.refresh(uid, nothing, forever);
  set([instance("app", "running")]);
  release();
  await early;
  assert.deepEqual(idsOf(await after), ["app-0 running"]);
  assert.deepEqual(
    calls.filter((call) => call === "list"),
    ["list", "list"],
  );
});

test("an inspection that finds no change does not write the cell", async () => {
  const { observer, podRuntimeStatus, set } = world([instance("app", "running")]);
  let reported = 0;
  podRuntimeStatus.watch(() => {
    reported += 1;
  });
  for (let looks = 0; looks < 3; looks += 1) await observer.look(uid, forever);
  assert.equal(reported, 1);
  set([instance("app", "exited")]);
  await observer.look(uid, forever);
  assert.equal(reported, 2);
  assert.deepEqual(idsOf(observer.present(uid)), ["app-0 exited"]);
});

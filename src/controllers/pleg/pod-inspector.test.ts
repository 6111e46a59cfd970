import assert from "node:assert/strict";
import { test } from "node:test";
import { instance, sandbox } from "../../../test/support/pods.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import type { PodContainer, PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { PodInspector } from "./pod-inspector.ts";

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
  const inspector = new PodInspector({
    runtime,
    podRuntimeStatus,
    listedSandboxes: new LatestCell<readonly Sandbox[] | undefined>(undefined),
    shutdown: forever,
  });
  return {
    inspector,
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
  const { inspector } = world([instance("app", "exited")]);
  assert.equal(inspector.cached(uid), undefined);
  await inspector.inspect(uid, forever);
  assert.deepEqual(idsOf(inspector.cached(uid)), ["app-0 exited"]);
  {
    using _ = inspector.mutating(uid);
    assert.equal(inspector.cached(uid), undefined);
    await inspector.inspect(uid, forever);
    assert.equal(inspector.cached(uid), undefined);
  }
  assert.equal(inspector.cached(uid), undefined);
  await inspector.inspect(uid, forever);
  assert.deepEqual(idsOf(inspector.cached(uid)), ["app-0 exited"]);
});

test("an inspection that began before a mutation and ends after it is not current", async () => {
  const { inspector, hold, release } = world([]);
  hold();
  const early = inspector.inspect(uid, forever);
  inspector.mutating(uid)[Symbol.dispose]();
  release();
  await early;
  assert.equal(inspector.cached(uid), undefined);
});

test("a pod missing from the full listing has no containers, unless it was mutated since the listing began", () => {
  const { inspector } = world([]);
  assert.equal(inspector.cached(uid), undefined, "nothing was listed yet");
  const { completedMutations } = inspector;
  inspector.noteListing(new Map(), completedMutations);
  assert.deepEqual(inspector.cached(uid), { uid, sandboxes: [], containers: [] });
  inspector.mutating(uid)[Symbol.dispose]();
  inspector.noteListing(new Map(), completedMutations);
  assert.equal(inspector.cached(uid), undefined);
  inspector.noteListing(new Map(), inspector.completedMutations);
  assert.deepEqual(inspector.cached(uid), { uid, sandboxes: [], containers: [] });
  inspector.noteListing(new Map([[uid, { sandboxes: [ready], containers: [] }]]), inspector.completedMutations);
  assert.equal(inspector.cached(uid), undefined, "listed, and not inspected yet");
});

test("after a mutation live containers are read again and created ones are added, without a listing", async () => {
  const [old, other] = [instance("app", "exited"), instance("other", "running")];
  const { inspector, calls, set } = world([old, other]);
  await inspector.inspect(uid, forever);
  const next = instance("app", "running", { restartCount: 1 });
  set([next, old, instance("other", "exited")]);
  calls.length = 0;
  const created = { sandboxIds: [], containers: [{ id: next.id, sandboxId: ready.id }] };
  const view = await inspector.refresh(uid, created, forever);
  assert.deepEqual(idsOf(view)?.toSorted(), ["app-0 exited", "app-1 running", "other-0 exited"]);
  assert.deepEqual(calls.toSorted(), ["app-1", "other-0"]);
  assert.equal(inspector.cached(uid), view);
});

test("a created container that is already known appears once", async () => {
  const { inspector } = world([instance("app", "exited"), instance("other", "running")]);
  await inspector.inspect(uid, forever);
  const created = ["app-0", "other-0"].map((id) => ({ id, sandboxId: sandbox().id }));
  const view = await inspector.refresh(uid, { sandboxIds: [], containers: created }, forever);
  assert.deepEqual(idsOf(view)?.toSorted(), ["app-0 exited", "other-0 running"]);
});

test("a container removed during a mutation is not in the refreshed state", async () => {
  const { inspector, set } = world([instance("app", "running")]);
  await inspector.inspect(uid, forever);
  set([]);
  assert.deepEqual(idsOf(await inspector.refresh(uid, nothing, forever)), []);
});

test("a refresh during an inspection inspects the pod in full afterwards", async () => {
  const { inspector, calls, hold, release, set } = world([]);
  hold();
  const early = inspector.inspect(uid, forever);
  const after = inspector.refresh(uid, nothing, forever);
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
  const { inspector, podRuntimeStatus, set } = world([instance("app", "running")]);
  let reported = 0;
  podRuntimeStatus.watch(() => {
    reported += 1;
  });
  for (let round = 0; round < 3; round += 1) await inspector.inspect(uid, forever);
  assert.equal(reported, 1);
  set([instance("app", "exited")]);
  await inspector.inspect(uid, forever);
  assert.equal(reported, 2);
  assert.deepEqual(idsOf(inspector.cached(uid)), ["app-0 exited"]);
});

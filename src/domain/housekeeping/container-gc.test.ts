import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { instance, NOW_MS, sandbox, view } from "../../../test/support/pods.ts";
import type { PodRuntimeView } from "../pod/runtime-view.ts";
import { type ContainerGcPolicy, type GcPod, gcPlan, type PodStanding, surplusOf } from "./container-gc.ts";

const gone = { state: "notReady", ips: [] } as const;
const DEFAULTS: ContainerGcPolicy = { ageMsMin: 0, perContainerMax: 1, nodeMax: -1 };

interface Given extends Partial<ContainerGcPolicy> {
  readonly surplus?: readonly string[];
}

function plan(
  seen: PodRuntimeView,
  standing: PodStanding = "active",
  { surplus = [], ...policy }: Given = {},
): readonly string[] {
  const rules = { policy: { ...DEFAULTS, ...policy }, nowWallMs: NOW_MS, surplus: new Set(surplus) };
  const { containers, sandboxIds } = gcPlan({ view: seen, standing }, rules);
  return [...containers.map(({ id }) => id), ...sandboxIds];
}

/** Dead instances of a container. */
const dead = (count: number, name = "app") =>
  Array.from({ length: count }, (_, restartCount) => instance(name, "exited", { restartCount }));

void suite("dead containers that go at once", () => {
  test("[19.1] [7.24] the newest dead instance of each container is kept, whether or not one is running", () => {
    const other = instance("b", "exited");
    assert.deepEqual(plan(view([sandbox()], [...dead(3), other])), ["app-0", "app-1"]);
    const running = instance("app", "running", { restartCount: 3 });
    assert.deepEqual(plan(view([sandbox()], [...dead(3), running])), ["app-0", "app-1"]);
  });

  test("[19.10] as many are kept as the flag sets, but one at least", () => {
    const seen = view([sandbox()], [...dead(4), instance("app", "running", { restartCount: 4 })]);
    assert.deepEqual(plan(seen, "active", { perContainerMax: 3 }), ["app-0"]);
    for (const perContainerMax of [1, 0, -1])
      assert.deepEqual(plan(seen, "active", { perContainerMax }), ["app-0", "app-1", "app-2"]);
    assert.deepEqual(plan(seen, "active", { ageMsMin: 3_600_000 }), ["app-0", "app-1", "app-2"], "whatever their age");
  });

  test("[19.1] a removed pod keeps no dead containers or sandboxes; the oldest go first", () => {
    const sandboxes = [sandbox(gone), sandbox({ ...gone, attempt: 1 })];
    const all = plan(view(sandboxes, dead(2)), "removed");
    assert.deepEqual(all.slice(0, 2), ["app-0", "app-1"]);
    assert.deepEqual(all.slice(2).toSorted(), ["sandbox-0", "sandbox-1"]);
  });

  test("[19.10] a removed pod keeps containers younger than the minimum age, and their sandbox", () => {
    const seen = view([sandbox(gone)], dead(2));
    assert.deepEqual(plan(seen, "removed", { ageMsMin: 90_000 }), ["app-0"], "created 90 s and 1 ms less ago");
    assert.deepEqual(plan(seen, "removed", { ageMsMin: 90_001 }), []);
    assert.deepEqual(plan(seen, "removed", { ageMsMin: 89_999 }), ["app-0", "app-1", "sandbox-0"]);
  });

  test("[19.1] a sandbox that is not ready is removed unless it is the newest or has a kept container", () => {
    const sandboxes = [sandbox(gone), sandbox({ ...gone, attempt: 1 })];
    assert.deepEqual(plan(view(sandboxes, [])), ["sandbox-0"]);
    assert.deepEqual(plan(view(sandboxes, [instance("app", "exited")])), [], "its last container is in the older");
    assert.deepEqual(plan(view([sandbox(), sandbox({ attempt: 1 })], [])), [], "both are ready");
  });

  test("[19.1] containers that may still run are never removed", () => {
    const alive = [instance("app", "running"), instance("b", "unknown")];
    assert.deepEqual(plan(view([sandbox()], alive), "removed", { surplus: ["app-0", "b-0"] }), []);
  });

  test("[19.10] a container beyond the limits goes, unless it became the newest of an active pod", () => {
    const seen = view([sandbox(gone)], dead(1));
    assert.deepEqual(plan(seen, "completed"), []);
    assert.deepEqual(plan(seen, "completed", { surplus: ["app-0"] }), ["app-0"], "the newest sandbox stays");
    assert.deepEqual(plan(seen, "active", { surplus: ["app-0"] }), []);
  });
});

void suite("dead containers beyond the limits", () => {
  const withIds = (prefix: string, seen: PodRuntimeView): PodRuntimeView => ({
    ...seen,
    uid: prefix,
    containers: seen.containers.map((container) => ({ ...container, id: `${prefix}-${container.id}` })),
  });
  const podOf = (
    prefix: string,
    counts: Readonly<Record<string, number>>,
    standing: PodStanding = "completed",
  ): GcPod => {
    const containers = Object.entries(counts).flatMap(([name, count]) => dead(count, name));
    return { view: withIds(prefix, view([sandbox(gone)], containers)), standing };
  };
  const surplus = (pods: readonly GcPod[], policy: Partial<ContainerGcPolicy>): readonly string[] =>
    [...surplusOf(pods, { policy: { ...DEFAULTS, ...policy }, nowWallMs: NOW_MS })].toSorted();

  test("[19.10] every container keeps as many dead instances as the flag sets", () => {
    const pods = [podOf("p", { a: 3, b: 1 }), podOf("q", { a: 2 })];
    assert.deepEqual(surplus(pods, { perContainerMax: 2 }), ["p-a-0"]);
    assert.deepEqual(surplus(pods, { perContainerMax: -1 }), []);
    assert.deepEqual(surplus(pods, { perContainerMax: 0 }).length, 6);
  });

  test("[19.10] with a limit of none, an active pod still keeps the newest instance of each container", () => {
    const seen = view([sandbox()], [...dead(2), instance("b", "running", { restartCount: 1 }), ...dead(1, "b")]);
    assert.deepEqual(surplus([{ view: seen, standing: "active" }], { perContainerMax: 0 }), ["app-0", "b-0"]);
  });

  test("[19.10] the node's limit leaves every container an equal number, then removes the oldest", () => {
    const pods = [podOf("p", { a: 5, b: 1 }), podOf("q", { a: 2 })];
    const policy = { perContainerMax: -1 };
    assert.deepEqual(surplus(pods, { ...policy, nodeMax: 8 }), []);
    assert.deepEqual(surplus(pods, { ...policy, nodeMax: 7 }), ["p-a-0", "p-a-1", "p-a-2"], "two each");
    assert.deepEqual(surplus(pods, { ...policy, nodeMax: 3 }), ["p-a-0", "p-a-1", "p-a-2", "p-a-3", "q-a-0"]);
    assert.deepEqual(
      surplus(pods, { ...policy, nodeMax: 2 }),
      ["p-a-0", "p-a-1", "p-a-2", "p-a-3", "p-b-0", "q-a-0"],
      "one each, and one of those too much",
    );
    assert.equal(surplus(pods, { ...policy, nodeMax: 0 }).length, 8);
  });

  test("[19.10] the node's limit counts the newest instances of active pods, and removes others instead", () => {
    const pods = [podOf("p", { a: 1, b: 1 }, "active"), podOf("q", { a: 1 })];
    assert.deepEqual(surplus(pods, { nodeMax: 2 }), ["q-a-0"]);
    assert.deepEqual(surplus(pods, { nodeMax: 0 }), ["q-a-0"]);
  });

  test("[19.10] young containers and those of removed pods count for no limit", () => {
    const pods = [podOf("p", { a: 2 }), podOf("q", { a: 2 }, "removed")];
    assert.deepEqual(surplus(pods, { perContainerMax: 0 }), ["p-a-0", "p-a-1"]);
    assert.deepEqual(surplus(pods, { perContainerMax: 0, ageMsMin: 90_000 }), ["p-a-0"]);
    assert.deepEqual(surplus(pods, { perContainerMax: 1, nodeMax: 1, ageMsMin: 90_000 }), []);
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { instance, sandbox, view } from "../../../test/support/pods.ts";
import type { PodRuntimeView } from "../pod/runtime-view.ts";
import { gcPlan } from "./container-gc.ts";

const gone = { state: "notReady", ips: [] } as const;

function plan(seen: PodRuntimeView, podHasEnded = false): readonly string[] {
  const { containers, sandboxIds } = gcPlan(seen, podHasEnded);
  return [...containers.map(({ id }) => id), ...sandboxIds].toSorted();
}

test("[19.1][7.24] the newest dead instance of each container is kept, whether or not one is running", () => {
  const [first, second, third] = [0, 1, 2].map((restartCount) => instance("app", "exited", { restartCount }));
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  const other = instance("b", "exited");
  assert.deepEqual(plan(view([sandbox()], [first, second, third, other])), ["app-0", "app-1"]);
  const running = instance("app", "running", { restartCount: 3 });
  assert.deepEqual(plan(view([sandbox()], [first, second, third, running])), ["app-0", "app-1"]);
});

test("[19.1] a terminated pod keeps no dead containers or sandboxes", () => {
  const sandboxes = [sandbox(gone), sandbox({ ...gone, attempt: 1 })];
  const everything = ["app-0", "app-1", "sandbox-0", "sandbox-1"];
  const dead = [0, 1].map((restartCount) => instance("app", "exited", { restartCount }));
  assert.deepEqual(plan(view(sandboxes, dead), true), everything);
});

test("[19.1] a sandbox that is not ready is removed unless it is the newest or has a kept container", () => {
  const sandboxes = [sandbox(gone), sandbox({ ...gone, attempt: 1 })];
  assert.deepEqual(plan(view(sandboxes, [])), ["sandbox-0"]);
  assert.deepEqual(plan(view(sandboxes, [instance("app", "exited")])), [], "its last container is in the older");
  assert.deepEqual(plan(view([sandbox(), sandbox({ attempt: 1 })], [])), [], "both are ready");
});

test("[19.1] containers that may still run are never removed", () => {
  const alive = [instance("app", "running"), instance("b", "unknown")];
  assert.deepEqual(plan(view([sandbox()], alive), true), []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN } from "../../../sim/fake-api-server/identity.ts";
import { kindOf } from "../../../sim/fake-api-server/kinds.ts";
import { World } from "../../../sim/world.ts";
import { pod } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { runtimeClasses as runtimeClassKind } from "../../api/resources.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { RuntimeClasses } from "../../domain/container-config/runtime-handler.ts";
import { type DesiredPod, type DesiredPods, noPods } from "../../domain/pod/desired-pod.ts";
import { runRuntimeClasses } from "./runtime-classes.ts";

test("[25.8] RuntimeClasses are unknown and not watched until a pod names one; the watch then outlives the pod", async () => {
  const world = new World({ seed: 1, latencyMs: () => 1 });
  const life = world.calls.begin("n1", 1);
  const api = world.api.connect(life, { kind: "node", name: "n1" });
  const desiredPods = new LatestCell<DesiredPods>(noPods);
  const runtimeClasses = new LatestCell<RuntimeClasses>(undefined);
  const stop = new AbortController();
  const put = (name: string) =>
    world.api.writes.create(kindOf(runtimeClassKind), { metadata: { name }, handler: `${name}-handler` }, ADMIN);
  const wanting = (runtimeClassName: string): DesiredPod => {
    const given = pod({ runtimeClassName });
    return { uid: runtimeClassName, source: "api", pod: given, given, firstSeenWallMs: 0 };
  };
  const desire = (...names: readonly string[]) =>
    desiredPods.set({ ...noPods, pods: new Map(names.map((name) => [name, wanting(name)])) });
  put("a");
  const parts = { api, clock: life.clock, random: world.random, log: keptLog(), desiredPods, runtimeClasses };
  const ended = runRuntimeClasses(parts, stop.signal);
  desire("");
  await world.advance(10_000);
  assert.deepEqual([runtimeClasses.value, world.api.watchCount], [undefined, 0], "no pod names one");
  desire("", "a");
  await world.advance(1_000);
  put("b");
  await world.advance(10);
  assert.deepEqual(
    [...(runtimeClasses.value ?? [])].map(([name, { handler }]) => [name, handler]),
    [
      ["a", "a-handler"],
      ["b", "b-handler"],
    ],
  );
  world.api.writes.delete(kindOf(runtimeClassKind), { name: "a" }, {}, ADMIN);
  desire();
  await world.advance(10);
  assert.deepEqual([...(runtimeClasses.value?.keys() ?? [])], ["b"], "the watch continues without the pod");
  stop.abort(new Error("shutting down"));
  await world.until(ended);
  assert.deepEqual([life.pendingCount, life.timerCount, world.api.watchCount], [0, 0, 0]);
});

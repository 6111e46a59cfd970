import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN } from "../../../sim/fake-api-server/identity.ts";
import { kindOf } from "../../../sim/fake-api-server/kinds.ts";
import { World } from "../../../sim/world.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { Service } from "../../api/gen/core-v1.ts";
import { services as serviceKind } from "../../api/resources.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { runServices } from "./services.ts";

test("[24.6] Services of all namespaces are watched, unknown until the first list, and kept without managedFields", async () => {
  const world = new World({ seed: 1, latencyMs: () => 1 });
  const life = world.calls.begin("n1", 1);
  const api = world.api.connect(life, { kind: "node", name: "n1" });
  const services = new LatestCell<ReadonlyMap<string, Service> | undefined>(undefined);
  const stop = new AbortController();
  const put = (namespace: string, name: string) => {
    const metadata = { namespace, name, managedFields: [{ manager: "kubectl" }] };
    return world.api.writes.create(kindOf(serviceKind), { metadata, spec: { clusterIP: "198.19.0.1" } }, ADMIN);
  };
  const known = () => (services.value === undefined ? undefined : [...services.value.keys()].sort());
  put("default", "kubernetes");
  world.api.leave();
  const ended = runServices({ api, clock: life.clock, random: world.random, log: keptLog(), services }, stop.signal);
  await world.advance(10_000);
  assert.equal(known(), undefined, "undefined, not empty");
  world.api.comeBack();
  await world.advance(60_000);
  put("kube-system", "dns");
  await world.advance(10);
  assert.deepEqual(known(), ["default/kubernetes", "kube-system/dns"]);
  for (const service of services.value?.values() ?? []) {
    assert.equal(service.spec?.clusterIP, "198.19.0.1");
    assert.equal(service.metadata?.managedFields, undefined);
  }
  world.api.writes.delete(kindOf(serviceKind), { namespace: "kube-system", name: "dns" }, {}, ADMIN);
  await world.advance(10);
  assert.deepEqual(known(), ["default/kubernetes"]);
  stop.abort(new Error("shutting down"));
  await world.until(ended);
  assert.deepEqual([life.pendingCount, life.timerCount, world.api.watchCount], [0, 0, 0]);
});

/** The kubelet as a whole: tests what only the wiring of its parts can show. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiServer } from "../src/ports/api-server.ts";
import { kubelet } from "./kubelet.ts";
import { play } from "./scenarios/scenario.ts";
import { World } from "./world.ts";

test("[1.14] repeated heartbeat failures renew the connections of every client, and nothing else does", async () => {
  const world = new World({ seed: 1 });
  const node = world.addNode("n1");
  const renewed = new Map<string, number>();
  const counted = (name: string, api: ApiServer): ApiServer => ({
    ...api,
    renewConnections: () => void renewed.set(name, (renewed.get(name) ?? 0) + 1),
  });
  node.start(({ api, ...ports }, self) => {
    assert.ok(api !== undefined);
    const { main, heartbeats, events } = api;
    const clients = {
      ...api,
      main: counted("main", main),
      heartbeats: counted("heartbeats", heartbeats),
      events: counted("events", events),
    };
    return kubelet({ ...ports, api: clients }, self);
  });
  await world.advance(30_000);
  assert.deepEqual([...renewed], [], "nothing failed");
  world.api.leave();
  await world.advance(15_000);
  const counts = [...renewed.values()];
  assert.deepEqual([...renewed.keys()].toSorted(), ["events", "heartbeats", "main"]);
  assert.ok((counts[0] ?? 0) >= 4 && new Set(counts).size === 1, counts.join());
  world.api.comeBack();
  await world.advance(10_000);
  const before = [...renewed.values()];
  await world.advance(60_000);
  assert.deepEqual([...renewed.values()], before, "it works again");
});

test("[14.3] kubelet exits with the Go kubelet's error when its root cgroup lacks controllers", async () => {
  const world = new World({ seed: 1 });
  const ends: unknown[] = [];
  world.addNode("n1").start((ports, self) => {
    const cgroups: typeof ports.cgroups = (driver) => {
      const all = ports.cgroups(driver);
      all.pods.validationError = async () => 'cgroup ["x"] has some missing controllers: cpu';
      return all;
    };
    const agent = kubelet({ ...ports, cgroups }, self);
    return { run: (shutdown) => agent.run(shutdown).catch((error: unknown) => void ends.push(error)) };
  });
  await world.advance(30_000);
  assert.deepEqual(ends.map(String), [
    'Error: failed to run Kubelet: invalid configuration: cgroup ["x"] has some missing controllers: cpu',
  ]);
});

for (const failure of [new Error("a bug"), "a text", undefined, null]) {
  test(`reports an agent that ends with ${String(failure)}`, async () => {
    const agent = () => ({ run: () => Promise.reject(failure) });
    const { wrong } = await play({ name: "nothing", steps: [], lastsMs: 1000, wrong: () => [] }, { agent });
    assert.deepEqual(wrong, [`the agent ended by itself: ${String(failure)}`]);
  });
}

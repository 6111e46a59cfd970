/** The stop signal that a pod names for its container: the real loops in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pods } from "../src/api/resources.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { kubeletWith } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import { World } from "./world.ts";

/** Exits on this signal and on no other. */
const heeding: Behaviour = { onSignal: { SIGUSR1: { afterMs: 200, code: 0 } } };

async function end(...flags: readonly string[]) {
  const world = new World({ seed: 1, latencyMs: () => 2 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  node.start(kubeletWith(...flags));
  const { find, create } = plainPods(world);
  const lifecycle = { stopSignal: "SIGUSR1" };
  create("a", { command: [...scripted(heeding)], lifecycle }, { terminationGracePeriodSeconds: 20 });
  await world.advance(10_000);
  const shown = find("a")?.status?.containerStatuses?.[0]?.stopSignal;
  world.api.writes.delete(kindOf(pods), { namespace: "default", name: "a" }, {}, ADMIN);
  await world.advance(5_000);
  return { shown, isGone: find("a") === undefined };
}

test("[7.16] with ContainerStopSignals a container is stopped by its pod's stopSignal, and its status reports the signal", async () => {
  assert.deepEqual(await end("--feature-gates=ContainerStopSignals=true"), { shown: "SIGUSR1", isGone: true });
});

test("[7.16] without ContainerStopSignals a container is stopped by the runtime's signal, and its status reports none", async () => {
  assert.deepEqual(await end(), { shown: undefined, isGone: false });
});

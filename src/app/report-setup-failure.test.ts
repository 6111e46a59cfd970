import assert from "node:assert/strict";
import { test } from "node:test";
import { World } from "../../sim/world.ts";
import type { Event } from "../api/gen/core-v1.ts";
import { coreEvents } from "../api/resources.ts";
import { reportSetupFailure } from "./report-setup-failure.ts";
import type { KubeletPorts } from "./wiring.ts";

const forever = new AbortController().signal;
const failure = new Error("mkdir /r: not a directory");

/** The ports of an agent on node n1. */
function portsIn(world: World): KubeletPorts {
  let found: KubeletPorts | undefined;
  world.addNode("n1").start((ports) => {
    found = ports;
    return { run: () => new Promise(() => {}) };
  });
  assert.ok(found !== undefined);
  return found;
}

test("[1.24] [23.3] a setup failure is a KubeletSetupFailed event of the node", async () => {
  const world = new World({ seed: 1 });
  const ports = portsIn(world);
  await world.until(reportSetupFailure(ports, "n1", failure), 4_000);
  const { items } = await world.until(world.user.list(coreEvents, { namespace: "default" }, {}, forever));
  const reported = items.map(({ type, reason, message, involvedObject }: Event) => [
    type,
    reason,
    message,
    involvedObject.kind,
    involvedObject.name,
  ]);
  assert.deepEqual(reported, [["Warning", "KubeletSetupFailed", "mkdir /r: not a directory", "Node", "n1"]]);
});

test("reportSetupFailure ends within 6 s when the API server is unreachable, and without one", async () => {
  const world = new World({ seed: 1 });
  const ports = portsIn(world);
  world.api.leave();
  await world.until(reportSetupFailure(ports, "n1", failure), 6_000);
  await reportSetupFailure({ ...ports, api: undefined }, "n1", failure);
});

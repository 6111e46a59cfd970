/** The cost of a simulated world of idle nodes: events per second, and memory per node, with the minimal agent on each. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { minimalAgent } from "../../sim/minimal-agent.ts";
import { World } from "../../sim/world.ts";
import { figure } from "../figures.ts";
import { seed, wholeSize } from "../size.ts";

const NODES = wholeSize() ? 5000 : 500;
const MINUTES = wholeSize() ? 10 : 2;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

async function idle(): Promise<{ readonly hash: string; readonly calls: number; readonly events: number }> {
  const emptyBytes = heapBytes();
  const world = new World({ seed: seed() });
  for (let index = 0; index < NODES; index += 1) world.addNode(`n${index}`).start(minimalAgent);
  const startedMs = performance.now();
  await world.advance(1000);
  const startMs = performance.now() - startedMs;
  const bytesPerNode = (heapBytes() - emptyBytes) / NODES;
  const [firedBefore, cpuBefore] = [world.clock.firedCount, process.cpuUsage()];
  await world.advance(MINUTES * 60_000);
  const { user, system } = process.cpuUsage(cpuBefore);
  const seconds = (user + system) / 1_000_000;
  const events = world.clock.firedCount - firedBefore;
  for (const node of world.nodes.values()) assert.equal(node.failure, undefined);
  figure("nodes", NODES, "nodes");
  figure("start of all nodes", Math.round(startMs), "ms");
  figure("heap per idle node", Math.round(bytesPerNode / 1024), "KiB");
  figure("events", events, "events");
  figure("events per CPU second", Math.round(events / seconds), "1/s");
  figure("virtual hours of one node per CPU minute", Math.round((NODES * MINUTES) / seconds), "h");
  return { hash: world.trace.hash, calls: world.calls.count, events };
}

test("idle nodes run without failures, and a second world from the same seed repeats the first", {
  timeout: 600_000,
}, async () => {
  const first = await idle();
  assert.ok(first.calls > NODES * MINUTES * 5, `${first.calls} calls`);
  assert.deepEqual(await idle(), first);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { machineFacts, runtimeAnswered } from "../../../test/support/node-world.ts";
import type { Node } from "../../api/gen/core-v1.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { RuntimeClasses } from "../../domain/container-config/runtime-handler.ts";
import { NO_NOT_READY_REASONS, type NotReadyReasons } from "../../domain/node/node-status.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import { NO_PRESSURE } from "../../domain/node/pressure.ts";
import type { RuntimeHealth } from "../../domain/node/runtime-health.ts";
import { AdmissionContextReader } from "./admission-context.ts";

const { signal } = new AbortController();
const COMPLETE: Node = { metadata: { name: "n1" }, status: { allocatable: { pods: "110" } } };
const INCOMPLETE: Node = { metadata: { name: "n1" } };

function world(get: (signal: AbortSignal) => Promise<Node>, localNode: Node = COMPLETE) {
  const clock = new ManualClock();
  const errors: string[] = [];
  const cells = {
    ownNode: new LatestCell<OwnNode>({ kind: "unknown" }),
    runtimeClasses: new LatestCell<RuntimeClasses>(undefined),
    runtimeHealth: new LatestCell<RuntimeHealth>(runtimeAnswered()),
    pressure: new LatestCell(NO_PRESSURE),
    nodeNotReadyReasons: new LatestCell<NotReadyReasons>(NO_NOT_READY_REASONS),
  };
  let machineReads = 0;
  const context = new AdmissionContextReader({
    ...cells,
    machine: {
      facts: async () => {
        machineReads += 1;
        return { ...machineFacts, apparmor: true };
      },
    },
    api: { get: (...args: readonly unknown[]) => get(args[2] as AbortSignal) as never },
    clock,
    log: { info: () => {}, error: (message: string) => void errors.push(message) },
    localNode: async () => localNode,
    nodeName: "n1",
    allowedUnsafeSysctls: [],
    gates: { podLevelResources: true, comparingTolerations: false },
    declaredFeatures: undefined,
    volumeSources: new Set(),
  });
  return { clock, context, cells, errors, machineReads: () => machineReads };
}

const away = () => Promise.reject(new Error("connect ECONNREFUSED"));

test("the context reads the cells at each call and the machine once", async () => {
  const { context, cells, machineReads } = world(away);
  const first = await context.read(signal);
  assert.deepEqual(
    [first.node, first.knowsRuntimeClasses, first.isShuttingDown, first.apparmor, first.strictGroups],
    [COMPLETE, false, false, true, true],
  );
  cells.runtimeClasses.set(new Map());
  cells.nodeNotReadyReasons.set({ ...NO_NOT_READY_REASONS, shutdown: "node is shutting down" });
  const second = await context.read(signal);
  assert.deepEqual([second.knowsRuntimeClasses, second.isShuttingDown, machineReads()], [true, true, 1]);
});

test("a Node without allocatable pods is unknown to admission", async () => {
  const { context } = world(async () => INCOMPLETE, INCOMPLETE);
  assert.equal((await context.read(signal)).node, undefined);
  assert.equal(await context.fetchNode(signal), undefined);
});

test("the Node is fetched from the API server, and a failure is logged", async () => {
  assert.equal(await world(async () => COMPLETE).context.fetchNode(signal), COMPLETE);
  const { context, errors } = world(away);
  assert.equal(await context.fetchNode(signal), undefined);
  assert.deepEqual(errors, ["Failed to read the Node, admission uses the last known one"]);
});

test("an API server that does not respond delays admission by five seconds", async () => {
  const silent = (limited: AbortSignal) =>
    new Promise<Node>((_, reject) => {
      limited.addEventListener("abort", () => reject(limited.reason), { once: true });
    });
  const { context, clock, errors } = world(silent);
  let isAnswered = false;
  const fetched = context.fetchNode(signal).then((node) => {
    isAnswered = true;
    return node;
  });
  await clock.advance(4_999);
  assert.equal(isAnswered, false);
  await clock.advance(1);
  assert.deepEqual([await fetched, errors.length], [undefined, 1]);
});

test("pods may wait for RuntimeClasses and for the Node", () => {
  const { context, cells } = world(away);
  assert.deepEqual(context.awaited, [cells.runtimeClasses, cells.ownNode]);
});

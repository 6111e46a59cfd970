/** Measures how long this node took to be ready, step by step, the first time in the life of this agent. Over when it is. */
import type { Latest } from "../../concurrency/latest-cell.ts";
import { unlessShutDown } from "../../concurrency/unless-shut-down.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import type { NodeMetrics } from "../../domain/metrics/node-metrics.ts";
import type { NodeSync, Registration } from "../../domain/node/own-node.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ProcessBegin } from "../../ports/own-process.ts";

export interface NodeStartupParts {
  readonly clock: Pick<Clock, "wallMs">;
  readonly begin: ProcessBegin;
  readonly metrics: NodeMetrics["startup"];
  readonly nodeRegistered: Latest<Registration>;
  readonly nodeSynced: Latest<NodeSync>;
}

export async function watchNodeStartup(parts: NodeStartupParts, shutdown: AbortSignal): Promise<void> {
  const { clock, begin, metrics, nodeRegistered, nodeSynced } = parts;
  await unlessShutDown(shutdown, async () => {
    await waitForValue(nodeRegistered, ({ kind }) => kind !== "pending", shutdown);
    // A Node that was there already when this agent came says nothing of how long it takes to make one.
    if (nodeRegistered.value.kind !== "registered" || !nodeRegistered.value.reported) return;
    const registeredWallMs = clock.wallMs();
    const attemptWallMs = metrics.attemptWallMs ?? registeredWallMs;
    const set = (gauge: NodeMetrics["startup"]["whole"], ms: number) => gauge.set(Math.max(0, ms) / 1000);
    set(metrics.beforeUs, begin.processWallMs - begin.bootWallMs);
    set(metrics.beforeRegistration, attemptWallMs - begin.processWallMs);
    set(metrics.registration, registeredWallMs - attemptWallMs);
    await waitForValue(nodeSynced, (sync) => sync.kind === "synced" && sync.ready, shutdown);
    set(metrics.afterRegistration, clock.wallMs() - registeredWallMs);
    set(metrics.whole, clock.wallMs() - begin.bootWallMs);
  });
}

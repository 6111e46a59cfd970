/** Measures, step by step, how long this node took to become ready for the first time in this process, then ends. */

import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
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
    // A Node that existed before this process started does not show how long registration takes.
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

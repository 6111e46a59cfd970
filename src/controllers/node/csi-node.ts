/**
 * Ensures that this node's CSINode exists on the API server as soon as the Node does. Until then the node is not Ready.
 */

import type { Node } from "../../api/gen/core-v1.ts";
import { csiNodes } from "../../api/resources.ts";
import { doublingMs } from "../../base/backoff.ts";
import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { pause } from "../../concurrency/sleep.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import { CSI_NODE_REASON, firstCsiNode, reconciledCsiNode } from "../../domain/node/csi-node.ts";
import { NO_NOT_READY_REASONS, type NotReadyReasons } from "../../domain/node/node-status.ts";
import { isPresent, type OwnNode } from "../../domain/node/own-node.ts";
import { ApiError, isAlreadyExists } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

export interface CsiNodeParts {
  readonly api: Pick<ApiServer, "create" | "get" | "update">;
  readonly clock: Clock;
  readonly log: Log;
  readonly ownNode: Latest<OwnNode>;
  readonly nodeNotReadyReasons: LatestCell<NotReadyReasons>;
  readonly nodeName: string;
}

const RETRY = { firstMs: 100, maxMs: 15_000 };

/** Ends when the object exists or the signal aborts. */
export async function runCsiNode(parts: CsiNodeParts, shutdown: AbortSignal): Promise<void> {
  const { nodeNotReadyReasons, ownNode, log, clock, nodeName } = parts;
  nodeNotReadyReasons.set({ ...NO_NOT_READY_REASONS, storage: CSI_NODE_REASON });
  const own = await unlessShutDown(shutdown, () => waitForValue(ownNode, isPresent, shutdown));
  if (own === undefined) return;
  for (let failures = 1; !shutdown.aborted; failures += 1) {
    try {
      await ensure(parts, own.node, shutdown);
      nodeNotReadyReasons.set(NO_NOT_READY_REASONS);
      return;
    } catch (error) {
      if (shutdown.aborted) return;
      log.error("Failed to publish the CSINode, retrying", error, { node: nodeName });
    }
    await pause(clock, doublingMs(RETRY, failures), shutdown);
  }
}

async function ensure({ api, nodeName }: CsiNodeParts, node: Node, signal: AbortSignal): Promise<void> {
  try {
    const right = reconciledCsiNode(await api.get(csiNodes, { name: nodeName }, signal));
    if (right !== undefined) await api.update(csiNodes, right, {}, signal);
    return;
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  }
  try {
    await api.create(csiNodes, firstCsiNode(node), signal);
  } catch (error) {
    // An earlier call of ours succeeded, but its response was lost.
    if (!isAlreadyExists(error)) throw error;
  }
}

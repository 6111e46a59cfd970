/** Makes sure that our CSINode is on the API server, as soon as our Node is. Until then the node is held back from being ready. */

import type { Node } from "../../api/gen/core-v1.ts";
import { csiNodes } from "../../api/resources.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { pause } from "../../concurrency/sleep.ts";
import { CSI_NODE_HOLD, firstCsiNode, reconciledCsiNode } from "../../domain/node/csi-node.ts";
import { NO_HOLDS, type NodeHolds } from "../../domain/node/node-status.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import { ApiError, isAlreadyExists } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

export interface CsiNodeParts {
  readonly api: Pick<ApiServer, "create" | "get" | "update">;
  readonly clock: Clock;
  readonly log: Log;
  readonly ownNode: Latest<OwnNode>;
  readonly nodeHolds: LatestCell<NodeHolds>;
  readonly nodeName: string;
}

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 15_000;

/** Ends when the object is there, or with the signal. */
export async function runCsiNode(parts: CsiNodeParts, shutdown: AbortSignal): Promise<void> {
  const { nodeHolds, log, clock, nodeName } = parts;
  nodeHolds.set({ ...NO_HOLDS, storage: CSI_NODE_HOLD });
  const node = await ownNodeOnce(parts, shutdown);
  if (node === undefined) return;
  for (let waitMs = RETRY_MS_MIN; !shutdown.aborted; waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)) {
    try {
      await ensure(parts, node, shutdown);
      nodeHolds.set(NO_HOLDS);
      return;
    } catch (error) {
      if (shutdown.aborted) return;
      log.error("The CSINode could not be published, trying again", error, { node: nodeName });
    }
    await pause(clock, waitMs, shutdown);
  }
}

async function ownNodeOnce({ ownNode }: CsiNodeParts, shutdown: AbortSignal): Promise<Node | undefined> {
  for (let seen = ownNode.version; ownNode.value.kind !== "present"; ) {
    try {
      seen = await ownNode.changed(seen, shutdown);
    } catch {
      return undefined; // Rejects only when the signal aborts.
    }
  }
  return ownNode.value.node;
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
    // By a call of ours whose answer was lost.
    if (!isAlreadyExists(error)) throw error;
  }
}

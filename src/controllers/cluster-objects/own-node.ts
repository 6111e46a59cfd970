/**
 * Watches this node's own Node object and publishes it in the cell `ownNode`. Readers use the cell and send no request.
 */
import { nodes } from "../../api/resources.ts";
import { startInformer } from "../../concurrency/informer.ts";
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import { onChange } from "../../concurrency/on-change.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";

export interface OwnNodeParts {
  readonly api: Pick<ApiServer, "list" | "watch">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly ownNode: LatestCell<OwnNode>;
  readonly nodeName: string;
}

export async function runOwnNode(parts: OwnNodeParts, shutdown: AbortSignal): Promise<void> {
  const { api, clock, random, log, ownNode, nodeName } = parts;
  const onTrouble = (detail: string) => log.info(2, "Failed to watch this node's Node object, retrying", { detail });
  const selection = { fields: `metadata.name=${nodeName}` };
  const informer = startInformer({ api, resource: nodes, selection, clock, random, onTrouble }, shutdown);
  const publish = () => {
    const node = informer.store.value.objects.get(nodeName);
    ownNode.set(node === undefined ? { kind: "absent" } : { kind: "present", node });
  };
  await onChange(informer.store, publish, shutdown);
  await informer.ended;
}

/**
 * Our own Node as the API server has it, from one watch of one object. Whoever wants to know what the Node says reads the cell and
 * asks nobody.
 */
import { nodes } from "../../api/resources.ts";
import { startInformer } from "../../concurrency/informer.ts";
import type { LatestCell } from "../../concurrency/latest-cell.ts";
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
  const onTrouble = (detail: string) => log.info(2, "Watching the own Node failed, trying again", { detail });
  const selection = { fields: `metadata.name=${nodeName}` };
  const informer = startInformer({ api, resource: nodes, selection, clock, random, onTrouble }, shutdown);
  const { store } = informer;
  let seen = store.version;
  while (!shutdown.aborted) {
    try {
      seen = await store.changed(seen, shutdown);
    } catch {
      break; // Rejects only when the signal aborts.
    }
    const node = store.value.objects.get(nodeName);
    ownNode.set(node === undefined ? { kind: "absent" } : { kind: "present", node });
  }
  await informer.ended;
}

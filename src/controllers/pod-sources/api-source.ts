/**
 * Watches the pods that are bound to this node. The watch starts only after the Node was read: admission must know the
 * Node before the first pod.
 */
import { pods } from "../../api/resources.ts";
import { startInformer } from "../../concurrency/informer.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { onChange } from "../../concurrency/on-change.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { SourceState } from "../../domain/pod/desired-pod.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";

export interface ApiSourceParts {
  readonly api: Pick<ApiServer, "list" | "watch">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly ownNode: Latest<OwnNode>;
  readonly state: LatestCell<SourceState>;
  readonly nodeName: string;
}

export async function runApiSource(parts: ApiSourceParts, shutdown: AbortSignal): Promise<void> {
  const { api, clock, random, log, ownNode, state, nodeName } = parts;
  try {
    await waitForValue(ownNode, ({ kind }) => kind !== "unknown", shutdown);
  } catch (error) {
    if (shutdown.aborted) return;
    throw error;
  }
  const informer = startInformer(
    {
      api,
      resource: pods,
      selection: { fields: `spec.nodeName=${nodeName}` },
      clock,
      random,
      onTrouble: (detail) => log.info(2, "Failed to watch pods, retrying", { detail }),
    },
    shutdown,
  );
  const publish = () => {
    const { synced, objects } = informer.store.value;
    if (synced) state.set({ kind: "seen", pods: [...objects.values()] });
  };
  await onChange(informer.store, publish, shutdown);
  await informer.ended;
}

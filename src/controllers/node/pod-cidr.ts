/** Hands the pod ranges that the cluster gave this node to the runtime, once for each change. */
import type { Latest } from "../../concurrency/latest-cell.ts";
import { sleep } from "../../concurrency/sleep.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Runtime } from "../../ports/runtime.ts";

const RETRY_MS = 10_000;

export interface PodCidrParts {
  readonly runtime: Pick<Runtime, "setPodCidr">;
  readonly clock: Clock;
  readonly log: Log;
  readonly ownNode: Latest<OwnNode>;
}

export async function runPodCidr({ runtime, clock, log, ownNode }: PodCidrParts, shutdown: AbortSignal): Promise<void> {
  let handed = "";
  let seen = -1;
  try {
    for (;;) {
      seen = await ownNode.changed(seen, shutdown);
      const { value } = ownNode;
      const wanted = value.kind === "present" ? (value.node.spec?.podCIDRs ?? []).join(",") : "";
      if (wanted === "" || wanted === handed) continue;
      try {
        await runtime.setPodCidr(wanted, shutdown);
        log.info(0, "Updating Pod CIDR", { originalPodCIDR: handed, newPodCIDR: wanted });
        handed = wanted;
      } catch (error) {
        shutdown.throwIfAborted();
        log.error("Failed to update pod CIDR", error, { podCIDR: wanted });
        await sleep(clock, RETRY_MS, shutdown);
        seen = -1; // Looks again even if nothing changed.
      }
    }
  } catch (error) {
    if (!shutdown.aborted) throw error;
  }
}

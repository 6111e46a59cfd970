/**
 * Passes the pod CIDRs to the runtime: those that the cluster assigned to this node, once per change, or the
 * operator's.
 */

import { unlessShutDown } from "../../concurrency/abort.ts";
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
}

/** Without an API server the operator configures the CIDR; it never changes. */
export async function setPodCidr(podCidr: string, parts: PodCidrParts, shutdown: AbortSignal): Promise<void> {
  if (podCidr === "") return;
  await unlessShutDown(shutdown, async () => {
    while (!(await trySet("", podCidr, parts, shutdown))) await sleep(parts.clock, RETRY_MS, shutdown);
  });
}

export async function runPodCidr(
  parts: PodCidrParts & { readonly ownNode: Latest<OwnNode> },
  shutdown: AbortSignal,
): Promise<void> {
  const { clock, ownNode } = parts;
  let current = "";
  let seen = -1;
  await unlessShutDown(shutdown, async () => {
    for (;;) {
      seen = await ownNode.changed(seen, shutdown);
      const { value } = ownNode;
      const wanted = value.kind === "present" ? (value.node.spec?.podCIDRs ?? []).join(",") : "";
      if (wanted === "" || wanted === current) continue;
      if (await trySet(current, wanted, parts, shutdown)) {
        current = wanted;
      } else {
        await sleep(clock, RETRY_MS, shutdown);
        seen = -1; // Retry even if nothing changes.
      }
    }
  });
}

async function trySet(
  originalPodCIDR: string,
  newPodCIDR: string,
  { runtime, log }: PodCidrParts,
  shutdown: AbortSignal,
): Promise<boolean> {
  try {
    await runtime.setPodCidr(newPodCIDR, shutdown);
    log.info(0, "Updating Pod CIDR", { originalPodCIDR, newPodCIDR });
    return true;
  } catch (error) {
    shutdown.throwIfAborted();
    log.error("Failed to update pod CIDR", error, { podCIDR: newPodCIDR });
    return false;
  }
}

/**
 * Warns once at startup that memory-backed volumes may reach a disk: the machine has swap, and its kernel does not
 * support tmpfs with noswap.
 */
import type { EventSink } from "../../ports/event-sink.ts";
import type { Machine } from "../../ports/machine.ts";
import type { Mounts } from "../../ports/mounts.ts";
import { tellNodeEvents } from "../node/node-events.ts";

const MESSAGE =
  "The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.";

export interface WarnOfSwapPorts {
  readonly machine: Pick<Machine, "facts">;
  readonly mounts: Pick<Mounts, "supportsNoswap">;
  readonly events: EventSink;
}

export async function warnOfSwap(nodeName: string, { machine, mounts, events }: WarnOfSwapPorts): Promise<void> {
  const { swapBytes } = await machine.facts();
  if (swapBytes === 0n || (await mounts.supportsNoswap())) return;
  tellNodeEvents(events, nodeName, [
    { type: "Warning", reason: "PossibleMemoryBackedVolumesOnDisk", message: MESSAGE },
  ]);
}

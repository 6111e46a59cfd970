/** Lists the runtime's images periodically. The cell changes only when the list changes. */
import { jsonEqual } from "../../base/json-equal.ts";
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import type { Heartbeat } from "../../concurrency/loop-heartbeats.ts";
import { pause } from "../../concurrency/sleep.ts";
import type { Image } from "../../domain/runtime/image.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import type { Log } from "../../ports/log.ts";

const LIST_EVERY_MS = 30_000;
/** Until the first list succeeds, retry more often: the scheduler scores nodes by their images. */
const FIRST_LIST_EVERY_MS = 1000;

export interface ImageListParts {
  readonly images: Pick<Images, "listImages">;
  readonly clock: Clock;
  readonly log: Log;
  readonly heartbeat: Pick<Heartbeat, "beat">;
  /** Undefined until the first list succeeds. */
  readonly nodeImages: LatestCell<readonly Image[] | undefined>;
}

export async function runImageList(
  { images, clock, log, nodeImages, heartbeat }: ImageListParts,
  shutdown: AbortSignal,
): Promise<void> {
  while (!shutdown.aborted) {
    heartbeat.beat();
    try {
      const listed = await images.listImages({}, shutdown);
      if (!jsonEqual(listed, nodeImages.value)) nodeImages.set(listed);
    } catch (error) {
      if (shutdown.aborted) return;
      log.info(2, "Failed to list images, retrying", { error });
    }
    const waitMs = nodeImages.value === undefined ? FIRST_LIST_EVERY_MS : LIST_EVERY_MS;
    await pause(clock, waitMs, shutdown);
  }
}

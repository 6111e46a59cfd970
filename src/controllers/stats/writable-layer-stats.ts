/**
 * Reports the usage of containers' writable layers and of the image filesystem, as returned by the runtime. The runtime
 * measures layers every ten seconds and responds slowly, so the previous response is used while a new one is requested.
 * Callers wait for containers that the runtime has not measured yet, and if nobody requested anything for a while,
 * because eviction ranks pods by this usage; for at most `WAIT_MS`.
 */

import { raceAbort } from "../../concurrency/abort.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { SingleFlightGroup } from "../../concurrency/single-flight-group.ts";
import type { FilesystemUsage } from "../../domain/runtime/image.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import type { Log } from "../../ports/log.ts";
import type { RuntimeStats } from "../../ports/runtime.ts";

export interface WritableLayerStatsParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: Pick<RuntimeStats, "listContainerStats">;
  readonly images: Pick<Images, "imageFilesystems">;
}

interface Reported {
  readonly monotonicMs: number;
  readonly layers: ReadonlyMap<string, FilesystemUsage>;
  readonly images: FilesystemUsage | undefined;
  /** The file system of the writable layers; undefined if the images are on the same one. */
  readonly containers: FilesystemUsage | undefined;
}

const FRESH_MS = 10_000;
/** Older responses are not used if the runtime responds in time. */
const STALE_MS = 2 * FRESH_MS;
const WAIT_MS = 2_000;
const NOTHING: Reported = {
  monotonicMs: Number.NEGATIVE_INFINITY,
  layers: new Map(),
  images: undefined,
  containers: undefined,
};

export class WritableLayerStats {
  readonly #parts: WritableLayerStatsParts;
  readonly #shutdown: AbortSignal;
  #reported: Reported = NOTHING;
  readonly #requests = new SingleFlightGroup<"all", void>();

  constructor(parts: WritableLayerStatsParts, shutdown: AbortSignal) {
    this.#parts = parts;
    this.#shutdown = shutdown;
  }

  /** The filesystems in the last response. */
  get mountpoints(): readonly string[] {
    const { layers, images, containers } = this.#reported;
    const all = [...layers.values(), images, containers].filter((usage) => usage !== undefined);
    return [...new Set(all.map(({ mountpoint }) => mountpoint))];
  }

  async ask(containers: readonly string[], signal: AbortSignal): Promise<Reported> {
    const { clock } = this.#parts;
    const { layers, monotonicMs } = this.#reported;
    const ageMs = clock.monotonicMs() - monotonicMs;
    const isNeeded = ageMs >= STALE_MS || !containers.every((id) => isMeasured(layers.get(id)));
    const request = isNeeded || ageMs >= FRESH_MS ? this.#requests.join("all", () => this.#ask()) : undefined;
    if (isNeeded && request !== undefined) {
      await withDeadline(clock, WAIT_MS, signal, (limited) => raceAbort(request, limited)).catch((error: unknown) => {
        if (signal.aborted) throw error;
      });
    }
    return this.#reported;
  }

  async #ask(): Promise<void> {
    const { clock, runtime, images, log } = this.#parts;
    try {
      const stats = await runtime.listContainerStats({}, this.#shutdown);
      // After the layers: containerd measures images and layers together, and both must be of the same measurement.
      const filesystems = await images.imageFilesystems(this.#shutdown);
      const layers = stats.flatMap(({ id, writableLayer }) =>
        writableLayer === undefined ? [] : [[id, writableLayer] as const],
      );
      const [ofImages] = filesystems.images;
      const containers = filesystems.containers.find(({ mountpoint }) => mountpoint !== ofImages?.mountpoint);
      this.#reported = { monotonicMs: clock.monotonicMs(), layers: new Map(layers), images: ofImages, containers };
    } catch (error) {
      if (!this.#shutdown.aborted) log.error("Failed to get the disk usage of containers from the runtime", error);
    }
  }
}

/** containerd reports 0 bytes at the time 0 until it has measured a layer. */
const isMeasured = (layer: FilesystemUsage | undefined): boolean => layer !== undefined && layer.wallNs > 0n;

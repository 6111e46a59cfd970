/**
 * What containers wrote to their own file systems, and where the runtime keeps images, by the runtime's word. It measures the former every ten
 * seconds for itself and takes long to tell, so its last word serves while the next is asked for: an asker waits only for containers of which
 * nothing is known yet, and only so long.
 */
import { withDeadline } from "../../concurrency/deadline.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import type { FilesystemUsage } from "../../domain/runtime/image.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import type { Log } from "../../ports/log.ts";
import type { RuntimeStats } from "../../ports/runtime.ts";

export interface LayersParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: Pick<RuntimeStats, "listContainerStats">;
  readonly images: Pick<Images, "imageFilesystems">;
}

interface Told {
  readonly monotonicMs: number;
  readonly layers: ReadonlyMap<string, FilesystemUsage>;
  readonly images: FilesystemUsage | undefined;
}

const FRESH_MS = 10_000;
const WAIT_MS = 2_000;
const NOTHING: Told = { monotonicMs: Number.NEGATIVE_INFINITY, layers: new Map(), images: undefined };

export class Layers {
  readonly #parts: LayersParts;
  readonly #shutdown: AbortSignal;
  #told: Told = NOTHING;
  #asking: Promise<void> | undefined;

  constructor(parts: LayersParts, shutdown: AbortSignal) {
    this.#parts = parts;
    this.#shutdown = shutdown;
  }

  /** The file systems that the last word spoke of. */
  get mountpoints(): readonly string[] {
    const all = [...this.#told.layers.values(), ...(this.#told.images === undefined ? [] : [this.#told.images])];
    return [...new Set(all.map(({ mountpoint }) => mountpoint))];
  }

  async ask(containers: readonly string[], signal: AbortSignal): Promise<Told> {
    const { clock } = this.#parts;
    const isNew = containers.some((id) => !this.#told.layers.has(id));
    if (isNew || clock.monotonicMs() - this.#told.monotonicMs >= FRESH_MS) this.#asking ??= this.#ask();
    const asking = this.#asking;
    if (isNew && asking !== undefined) {
      await withDeadline(clock, WAIT_MS, signal, (limited) => unlessAborted(asking, limited)).catch(
        (error: unknown) => {
          if (signal.aborted) throw error;
        },
      );
    }
    return this.#told;
  }

  async #ask(): Promise<void> {
    const { clock, runtime, images, log } = this.#parts;
    try {
      const [stats, filesystems] = await Promise.all([
        runtime.listContainerStats({}, this.#shutdown),
        images.imageFilesystems(this.#shutdown),
      ]);
      const layers = stats.flatMap(({ id, writableLayer }) =>
        writableLayer === undefined ? [] : [[id, writableLayer] as const],
      );
      this.#told = { monotonicMs: clock.monotonicMs(), layers: new Map(layers), images: filesystems.images[0] };
    } catch (error) {
      if (!this.#shutdown.aborted) log.error("the runtime does not tell what containers wrote", error);
    } finally {
      this.#asking = undefined;
    }
  }
}

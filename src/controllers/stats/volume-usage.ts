/**
 * Measures the usage of pods' volumes. A volume is measured only during a request, and only if the last measurement is
 * older than the configured period. The measurements of a request run in parallel. If one does not finish in time, the
 * previous value is reported, or none.
 */
import { errorText } from "../../base/error-text.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import { SingleFlightGroup } from "../../concurrency/single-flight-group.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { ReportedVolume } from "../../domain/stats/summary.ts";
import {
  type VolumeMeasure,
  type VolumeToMeasure,
  volumeStats,
  volumesToMeasure,
} from "../../domain/stats/volume-stats.ts";
import type { PodVolumes } from "../../domain/volumes/volume-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { VolumeUsage as MeasuredUsage, Mounts } from "../../ports/mounts.ts";
import type { Quotas } from "../../ports/quotas.ts";

export interface VolumeUsageParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly mounts: Pick<Mounts, "measure">;
  readonly quotas: Pick<Quotas, "usage">;
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly mountState: ReadonlyTable<string, PodVolumes>;
  /** 0 or less: volumes are not measured. */
  readonly everyMs: number;
}

interface Known {
  readonly measuredMonotonicMs: number;
  readonly measure: VolumeMeasure;
}

const WAIT_MS = 2_000;

export class VolumeUsage {
  readonly #parts: VolumeUsageParts;
  readonly #shutdown: AbortSignal;
  readonly #known = new Map<string, Known>();
  readonly #measurements = new SingleFlightGroup<string, void>();

  constructor(parts: VolumeUsageParts, shutdown: AbortSignal) {
    this.#parts = parts;
    this.#shutdown = shutdown;
  }

  /** Keyed by pod UID. */
  async ask(signal: AbortSignal): Promise<ReadonlyMap<string, readonly ReportedVolume[]>> {
    const { admittedPods, clock, everyMs } = this.#parts;
    if (everyMs <= 0) return new Map();
    const wanted = admittedPods.keys().flatMap((uid) => this.#volumesOf(uid));
    this.#forget(new Set(wanted.map(({ volume }) => volume.path)));
    const looks = wanted.flatMap(({ volume }) => this.#look(volume) ?? []);
    if (looks.length > 0) {
      await withDeadline(clock, WAIT_MS, signal, (limited) => raceAbort(Promise.all(looks), limited)).catch(
        (error: unknown) => {
          if (signal.aborted) throw error;
        },
      );
    }
    return this.#reported(wanted);
  }

  #volumesOf(uid: string): readonly Wanted[] {
    const { admittedPods, mountState } = this.#parts;
    const admitted = admittedPods.get(uid);
    const volumes = mountState.get(uid);
    if (admitted === undefined || volumes === undefined) return [];
    const namespace = admitted.pod.metadata?.namespace ?? "";
    return volumesToMeasure(admitted.pod, volumes).map((volume) => ({ uid, namespace, volume }));
  }

  #forget(paths: ReadonlySet<string>): void {
    for (const path of this.#known.keys()) if (!paths.has(path)) this.#known.delete(path);
  }

  /** Undefined: the known measurement is recent enough. */
  #look(volume: VolumeToMeasure): Promise<void> | undefined {
    const { clock, everyMs } = this.#parts;
    const known = this.#known.get(volume.path);
    if (known !== undefined && (volume.once || clock.monotonicMs() - known.measuredMonotonicMs < everyMs))
      return undefined;
    return this.#measurements.join(volume.path, () => this.#measure(volume));
  }

  async #measure(volume: VolumeToMeasure): Promise<void> {
    const { clock, log } = this.#parts;
    const { path, name } = volume;
    try {
      const { filesystem, usage } = await this.#usageOf(volume);
      const measure = { wallMs: clock.wallMs(), filesystem, files: usage };
      this.#known.set(path, { measuredMonotonicMs: clock.monotonicMs(), measure });
    } catch (error) {
      if (!this.#shutdown.aborted)
        log.info(4, "Failed to calculate volume metrics", { volumeName: name, err: errorText(error) });
    }
  }

  /** A quota that cannot be read is replaced by a walk. */
  async #usageOf({ path, how, name, project }: VolumeToMeasure): Promise<MeasuredUsage> {
    const { mounts, quotas, log } = this.#parts;
    if (project === undefined) return mounts.measure(path, how, this.#shutdown);
    try {
      const usage = await quotas.usage(path, project, this.#shutdown);
      return { ...(await mounts.measure(path, "filesystem", this.#shutdown)), usage };
    } catch (error) {
      this.#shutdown.throwIfAborted();
      log.info(2, "Failed to read a volume's project quota", { volumeName: name, project, err: errorText(error) });
      return mounts.measure(path, how, this.#shutdown);
    }
  }

  #reported(wanted: readonly Wanted[]): ReadonlyMap<string, readonly ReportedVolume[]> {
    const byPod = new Map<string, ReportedVolume[]>();
    for (const { uid, namespace, volume } of wanted) {
      const known = this.#known.get(volume.path);
      if (known === undefined) continue;
      const reported = { stats: volumeStats(volume, known.measure, namespace), ephemeral: volume.ephemeral };
      byPod.set(uid, [...(byPod.get(uid) ?? []), reported]);
    }
    return byPod;
  }
}

interface Wanted {
  readonly uid: string;
  readonly namespace: string;
  readonly volume: VolumeToMeasure;
}

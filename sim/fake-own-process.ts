/** The OwnProcess port of a simulated agent, which has no real process. */

import type { ProcessStats } from "../src/domain/metrics/process-families.ts";
import type { Clock } from "../src/ports/clock.ts";
import type { OwnProcess, ProcessBegin } from "../src/ports/own-process.ts";

const MIB = 1024 ** 2;
/** How long the machine has been up when its agent starts. */
const BOOT_MS = 30_000;

export class FakeOwnProcess implements OwnProcess {
  readonly #clock: Pick<Clock, "wallMs" | "monotonicMs">;
  readonly #startWallMs: number;
  readonly #startMonotonicMs: number;

  constructor(clock: Pick<Clock, "wallMs" | "monotonicMs">) {
    this.#clock = clock;
    this.#startWallMs = clock.wallMs();
    this.#startMonotonicMs = clock.monotonicMs();
  }

  async begin(): Promise<ProcessBegin> {
    return { processWallMs: this.#startWallMs, bootWallMs: this.#startWallMs - BOOT_MS };
  }

  async facts(): Promise<ProcessStats> {
    const livedSeconds = (this.#clock.monotonicMs() - this.#startMonotonicMs) / 1000;
    return {
      startWallMs: this.#startWallMs,
      cpuSeconds: livedSeconds / 100,
      residentBytes: 80 * MIB,
      virtualBytes: 1024 * MIB,
      virtualBytesMax: Number.POSITIVE_INFINITY,
      openFiles: 30,
      openFilesMax: 1024,
      receivedBytes: livedSeconds * 100,
      transmittedBytes: livedSeconds * 100,
      heapUsedBytes: 20 * MIB,
      heapTotalBytes: 40 * MIB,
      externalBytes: 4 * MIB,
      loopDelay: { meanSeconds: 0.02, p99Seconds: 0.02, maxSeconds: 0.02 },
    };
  }
}

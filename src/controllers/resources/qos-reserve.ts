/**
 * Sets the memory limits of the QoS cgroups from what pods of higher classes request. The limit of a class that uses
 * more is what it uses, so that it does not grow and none of its processes is killed; each minute lowers it again.
 * Failures are logged; they do not keep pods from starting.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { CgroupName } from "../../domain/resources/cgroup-values.ts";
import { qosMemoryLimits } from "../../domain/resources/qos-reserve.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Log } from "../../ports/log.ts";

export class QosReserve {
  readonly #percentage: bigint;
  readonly #log: Log;
  /** The limits that were applied as computed. */
  readonly #applied = new Map<CgroupName, bigint>();

  constructor(percentage: bigint, log: Log) {
    this.#percentage = percentage;
    this.#log = log;
  }

  /** `always`: also limits that have not changed, in case another process has changed them. */
  async apply(
    cgroups: Cgroups,
    pods: readonly Pod[],
    allocatableBytes: bigint,
    { always }: { readonly always: boolean },
  ): Promise<void> {
    for (const [name, wantedBytes] of qosMemoryLimits(pods, this.#percentage, allocatableBytes)) {
      if (this.#applied.get(name) === wantedBytes && !always) continue;
      this.#applied.delete(name);
      try {
        const usedBytes = (await cgroups.memory(name))?.workingSetBytes ?? 0n;
        const limitBytes = wantedBytes > usedBytes ? wantedBytes : usedBytes;
        // Without any memory no process could start; the Go kubelet sets no limit either.
        if (limitBytes === 0n) continue;
        await cgroups.apply(name, { memoryLimitBytes: limitBytes });
        if (limitBytes === wantedBytes) this.#applied.set(name, wantedBytes);
      } catch (error) {
        this.#log.error("Failed to reserve QoS requests", error);
      }
    }
  }
}

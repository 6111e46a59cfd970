/**
 * Memory that is reserved per QoS class: the setting `qosReserved`, with the feature gate QOSReserved. A percentage of
 * what pods of higher classes request is taken from the memory limits of the lower classes' cgroups.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { goQuote } from "../../base/go-text.ts";
import { BEST_EFFORT, BURSTABLE } from "./cgroup-name.ts";
import type { CgroupName } from "./cgroup-values.ts";
import { requestedMemoryBytes } from "./memory-qos.ts";
import { occupyingPods } from "./qos-cgroups.ts";

/** The percentage of memory; undefined: nothing is reserved. Throws the Go kubelet's message for other settings. */
export function parseQosReserved(written: Readonly<Record<string, string>>): bigint | undefined {
  for (const [resource, text] of Object.entries(written)) {
    if (resource !== "memory") throw new QosReservedError(`cannot reserve ${goQuote(resource)} resource`);
    const fault = percentageFault(text);
    if (fault !== undefined)
      throw new QosReservedError(
        `failed to parse percentage ${goQuote(text)} for ${goQuote(resource)} resource: ${fault}`,
      );
  }
  const { memory } = written;
  return memory === undefined ? undefined : percentageOf(memory);
}

export class QosReservedError extends Error {
  override readonly name = "QosReservedError";
}

const percentageOf = (text: string): bigint => BigInt(text.replace(/%+$/, "").replace(/^\+/, ""));

function percentageFault(text: string): string | undefined {
  if (!text.endsWith("%")) return `percentage expected, got '${text}'`;
  const isInt64 = /^[+-]?\d+%+$/.test(text) && BigInt.asIntN(64, percentageOf(text)) === percentageOf(text);
  if (!isInt64) return `invalid number in percentage '${text}'`;
  const percentage = percentageOf(text);
  return percentage < 0n || percentage > 100n ? "percentage must be between 0 and 100" : undefined;
}

/**
 * What Guaranteed pods reserve is not for Burstable pods, and what either of them reserve is not for BestEffort pods.
 * None without allocatable memory.
 */
export function qosMemoryLimits(
  all: readonly Pod[],
  percentage: bigint,
  allocatableBytes: bigint,
): readonly (readonly [CgroupName, bigint])[] {
  if (allocatableBytes === 0n) return [];
  const requested = requestedMemoryBytes(occupyingPods(all));
  const burstable = allocatableBytes - (requested.guaranteed * percentage) / 100n;
  return [
    [BURSTABLE, burstable],
    [BEST_EFFORT, burstable - (requested.burstable * percentage) / 100n],
  ];
}

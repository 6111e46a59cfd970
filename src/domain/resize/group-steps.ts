/**
 * How a pod's cgroup changes from one set of values to another: raised before its containers grow, lowered after they
 * shrink.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { quantityMilliValue, quantityValue } from "../../base/quantity.ts";
import type { CgroupValues } from "../resources/cgroup-values.ts";
import {
  DEFAULT_PERIOD_US,
  milliOfShares,
  quotaUsOf,
  sharesOf,
  sharesOfWeight,
  sliceQuotaUs,
  weightOf,
} from "../resources/cpu-units.ts";
import { specOf } from "../resources/pod-resources.ts";
import { parseResourceList } from "../resources/resource-list.ts";
import type { LinuxResources } from "../runtime/resources.ts";
import type { CgroupDriver } from "../runtime/runtime-info.ts";

export interface GroupSteps {
  /** In order; each step is sent to the runtime, then applied to the cgroup. */
  readonly before: readonly CgroupValues[];
  readonly after: readonly CgroupValues[];
}

const UNLIMITED = -1;

/** A removed limit stays in place: the Go kubelet does not remove it either. */
export function memorySteps(now: CgroupValues, next: CgroupValues): GroupSteps {
  const { memoryLimitBytes } = next;
  return steps([
    [now.memoryLimitBytes, memoryLimitBytes, { ...(memoryLimitBytes !== undefined && { memoryLimitBytes }) }],
  ]);
}

/** The guaranteed CPU never exceeds the allowed CPU: increases start with the quota, decreases with the shares. */
export function cpuSteps(now: CgroupValues, next: CgroupValues): GroupSteps {
  const { cpuShares, cpuQuotaUs, cpuPeriodUs } = next;
  const quota = { ...(cpuQuotaUs !== undefined && { cpuQuotaUs }), ...(cpuPeriodUs !== undefined && { cpuPeriodUs }) };
  return steps([
    [now.cpuQuotaUs, cpuQuotaUs, quota],
    [now.cpuShares, cpuShares, { ...(cpuShares !== undefined && { cpuShares }) }],
  ]);
}

type Step = readonly [now: number | bigint | undefined, next: number | bigint | undefined, values: CgroupValues];

function steps(all: readonly Step[]): GroupSteps {
  const size = (value: number | bigint | undefined) =>
    value === undefined || Number(value) === UNLIMITED ? Number.POSITIVE_INFINITY : Number(value);
  const real = all.filter(([, next]) => next !== undefined);
  return {
    before: real.filter(([now, next]) => size(next) > size(now)).map(([, , values]) => values),
    after: real
      .filter(([now, next]) => size(next) < size(now))
      .map(([, , values]) => values)
      .toReversed(),
  };
}

/** The values as the kernel returns them: its weights are coarser than shares, and slices have quotas in steps. */
export function asRead(
  values: CgroupValues,
  { version, driver }: { readonly version: 1 | 2; readonly driver: CgroupDriver },
): CgroupValues {
  const { cpuShares, cpuQuotaUs = UNLIMITED, cpuPeriodUs = DEFAULT_PERIOD_US } = values;
  return {
    ...(cpuShares !== undefined && { cpuShares: version === 2 ? sharesOfWeight(weightOf(cpuShares)) : cpuShares }),
    cpuQuotaUs: driver === "systemd" && cpuQuotaUs > 0 ? sliceQuotaUs(cpuQuotaUs, cpuPeriodUs) : cpuQuotaUs,
    cpuPeriodUs,
    memoryLimitBytes: values.memoryLimitBytes ?? BigInt(UNLIMITED),
  };
}

/** The values for the runtime: those of the pod without the runtime's own overhead. */
export function sandboxShare(pod: Pod, values: CgroupValues): LinuxResources {
  const overhead = parseResourceList(specOf(pod).overhead);
  const [cpu, memory] = [overhead.get("cpu"), overhead.get("memory")];
  const { cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes } = values;
  const cpuMilli = cpu === undefined ? 0n : quantityMilliValue(cpu);
  const quotaLess = cpu === undefined ? 0 : (quotaUsOf(cpuMilli, cpuPeriodUs ?? DEFAULT_PERIOD_US) ?? 0);
  const sharesLess = (shares: number) => (cpu === undefined ? shares : sharesOf(milliOfShares(shares) - cpuMilli));
  return {
    ...(cpuShares !== undefined && { cpuShares: sharesLess(cpuShares) }),
    ...(cpuQuotaUs !== undefined && { cpuQuotaUs: cpuQuotaUs - quotaLess }),
    ...(cpuPeriodUs !== undefined && { cpuPeriodUs }),
    ...(memoryLimitBytes !== undefined && {
      memoryLimitBytes: memoryLimitBytes - (memory === undefined ? 0n : quantityValue(memory)),
    }),
  };
}

/** Converts `LinuxResources` to and from CRI, where zero means "not set" in every field except the OOM score. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { LinuxResources } from "../../domain/runtime/resources.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import type { LinuxContainerResources, LinuxContainerResourcesSchema } from "./gen/api_pb.js";
import { exactNumber, present } from "./parse.ts";

export function toResources(
  from: LinuxResources,
  operation: string,
): MessageInitShape<typeof LinuxContainerResourcesSchema> {
  const whole = (value: number | undefined, what: string) => toInt64(value ?? 0, what, operation);
  return {
    cpuPeriod: whole(from.cpuPeriodUs, "CPU period"),
    cpuQuota: whole(from.cpuQuotaUs, "CPU quota"),
    cpuShares: whole(from.cpuShares, "CPU shares"),
    memoryLimitInBytes: from.memoryLimitBytes ?? 0n,
    memorySwapLimitInBytes: from.memorySwapLimitBytes ?? 0n,
    oomScoreAdj: whole(from.oomScoreAdj, "OOM score"),
    cpusetCpus: from.cpusetCpus ?? "",
    cpusetMems: from.cpusetMems ?? "",
    hugepageLimits: (from.hugepageLimits ?? []).map(({ pageSize, limitBytes }) => ({ pageSize, limit: limitBytes })),
    unified: { ...from.unified },
  };
}

/** Converts a number to 64 bits. A fraction or a number beyond 2^53 is the caller's mistake. */
export function toInt64(value: number, what: string, operation: string): bigint {
  if (Number.isSafeInteger(value)) return BigInt(value);
  throw new RuntimeError(operation, "invalidArgument", `${what} is not a whole number: ${value}`);
}

export function fromResources(from: LinuxContainerResources): LinuxResources {
  return present({
    cpuPeriodUs: exactNumber(from.cpuPeriod, "CPU period") || undefined,
    cpuQuotaUs: exactNumber(from.cpuQuota, "CPU quota") || undefined,
    cpuShares: exactNumber(from.cpuShares, "CPU shares") || undefined,
    memoryLimitBytes: from.memoryLimitInBytes || undefined,
    memorySwapLimitBytes: from.memorySwapLimitInBytes || undefined,
    oomScoreAdj: exactNumber(from.oomScoreAdj, "OOM score"),
    cpusetCpus: from.cpusetCpus || undefined,
    cpusetMems: from.cpusetMems || undefined,
    hugepageLimits: noneIfEmpty(from.hugepageLimits.map(({ pageSize, limit }) => ({ pageSize, limitBytes: limit }))),
    unified: Object.keys(from.unified).length === 0 ? undefined : from.unified,
  });
}

const noneIfEmpty = <T>(items: readonly T[]): readonly T[] | undefined => (items.length === 0 ? undefined : items);

/**
 * The resources that a pod and its containers actually have, for the pod's status. For a running container the
 * runtime's values replace the allocated ones. Only the kubelet knows memory requests.
 */
import type { ContainerStatus, Pod, PodStatus, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { formatQuantity, quantityMilliValue, wholeQuantity } from "../../base/quantity.ts";
import { describesInstance } from "../pod/published-status.ts";
import type { PodContainer } from "../pod/runtime-view.ts";
import type { CgroupValues } from "../resources/cgroup-values.ts";
import { milliOfQuota, milliOfShares } from "../resources/cpu-units.ts";
import { podLimits, podRequests, specOf } from "../resources/pod-resources.ts";
import { isNone, parseResourceList, type ResourceList } from "../resources/resource-list.ts";

/**
 * The smallest values that the kernel can hold. A smaller allocation reads back as this value, so it is reported as
 * allocated.
 */
const REQUEST_MILLI_MIN = 2n;
const LIMIT_MILLI_MIN = 10n;

type Texts = Readonly<Record<string, string>>;

export function containerActual(
  allocated: ResourceRequirements,
  instance: PodContainer,
  published: ContainerStatus | undefined,
  actuated: ResourceRequirements | undefined,
): ResourceRequirements {
  if (instance.state !== "running") return allocated;
  const { limits, requests } = allocated;
  const before = describesInstance(published, instance.id) ? published.resources : undefined;
  const { cpuShares = 0, cpuQuotaUs = 0, cpuPeriodUs = 0, memoryLimitBytes = 0n } = instance.resources ?? {};
  const tells = cpuShares > 0 || cpuQuotaUs > 0 || memoryLimitBytes > 0n;
  // The runtime is sent an explicit zero for a missing amount; the status does not show it.
  const given = (name: "cpu" | "memory", kind: "limits" | "requests") =>
    isNone(parseResourceList(actuated?.[kind]), name) ? undefined : actuated?.[kind]?.[name];
  const of = (name: "cpu" | "memory", kind: "limits" | "requests") => (tells ? undefined : given(name, kind));
  return {
    ...(limits !== undefined && {
      limits: replaced(limits, {
        cpu:
          cpuText(milliOfQuota(cpuQuotaUs, cpuPeriodUs), limits, LIMIT_MILLI_MIN) ??
          of("cpu", "limits") ??
          before?.limits?.["cpu"],
        memory: memoryText(memoryLimitBytes) ?? of("memory", "limits") ?? before?.limits?.["memory"],
      }),
    }),
    ...(requests !== undefined && {
      requests: replaced(requests, {
        cpu:
          cpuText(milliOfShares(cpuShares), requests, REQUEST_MILLI_MIN) ??
          of("cpu", "requests") ??
          before?.requests?.["cpu"],
        memory: given("memory", "requests") ?? before?.requests?.["memory"],
      }),
    }),
  };
}

const replaced = (
  allocated: Texts,
  { cpu, memory }: Readonly<Record<"cpu" | "memory", string | undefined>>,
): Texts => ({
  ...allocated,
  ...(cpu !== undefined && { cpu }),
  ...(memory !== undefined && { memory }),
});

/** The allocated text if both amounts are too small for the kernel to distinguish; undefined without an amount. */
function cpuText(milli: bigint, allocated: Texts, milliMin: bigint): string | undefined {
  if (milli <= 0n) return undefined;
  const own = parseResourceList(allocated).get("cpu");
  const isSmall = milli <= milliMin && (own === undefined || quantityMilliValue(own) <= milliMin);
  return isSmall ? allocated["cpu"] : formatQuantity({ nanos: milli * 1_000_000n, format: "DecimalSI" });
}

const memoryText = (bytes: bigint): string | undefined =>
  bytes > 0n ? formatQuantity(wholeQuantity(bytes, "BinarySI")) : undefined;

/** `group`: the values of the pod's cgroup as read from the kernel; undefined before they are known. */
export function podActual(
  pod: Pod,
  phase: string | undefined,
  group: CgroupValues | undefined,
  previous: Pick<PodStatus, "phase" | "resources"> = {},
): Pick<PodStatus, "resources" | "allocatedResources"> {
  const spec = specOf(pod);
  const requested = texts(podRequests(spec, { overhead: true }));
  const allocatedResources = Object.keys(requested).length === 0 ? {} : { allocatedResources: requested };
  // The cgroup has not been read yet, or will not be read again: the published resources stay.
  const isUnseen = phase === "Running" ? group === undefined : phase !== "Pending";
  if (isUnseen && previous.resources !== undefined) {
    return { resources: previous.resources, ...allocatedResources };
  }
  if (phase !== "Running" || group === undefined) {
    const limited = texts(podLimits(spec, { overhead: true }));
    return { resources: listed({ requests: requested, limits: limited }), ...allocatedResources };
  }
  const { requests = {}, limits = {} } = spec.resources ?? {};
  const { cpuShares = 0, cpuQuotaUs = -1, cpuPeriodUs = 0, memoryLimitBytes = -1n } = group;
  const memory = requests["memory"] ?? requested["memory"];
  // Without a limit in the cgroup, the published limit stays.
  const before = previous.phase === "Running" ? previous.resources?.limits : undefined;
  return {
    resources: listed({
      requests: replaced(requests, { cpu: cpuText(milliOfShares(cpuShares), requests, REQUEST_MILLI_MIN), memory }),
      limits: replaced(limits, {
        cpu: cpuText(milliOfQuota(cpuQuotaUs, cpuPeriodUs), limits, LIMIT_MILLI_MIN) ?? before?.["cpu"],
        memory: memoryText(memoryLimitBytes) ?? before?.["memory"],
      }),
    }),
    ...allocatedResources,
  };
}

const texts = (list: ResourceList): Texts =>
  Object.fromEntries([...list].map(([name, quantity]) => [name, formatQuantity(quantity)]));

/** The API server omits empty lists. */
const listed = ({ requests, limits }: { readonly requests: Texts; readonly limits: Texts }): ResourceRequirements => ({
  ...(Object.keys(limits).length === 0 ? {} : { limits }),
  ...(Object.keys(requests).length === 0 ? {} : { requests }),
});

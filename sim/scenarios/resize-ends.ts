/**
 * The final state of pods with resize requests: they have what they were allocated, report it, and report truthfully
 * what they wait for.
 */
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { nodes, pods } from "../../src/api/resources.ts";
import { quantityValue } from "../../src/base/quantity.ts";
import { shortages } from "../../src/domain/admission/resource-fit.ts";
import { containerNamed } from "../../src/domain/pod/containers.ts";
import { isTerminal } from "../../src/domain/pod-status/phase.ts";
import { effective } from "../../src/domain/resize/actuation.ts";
import {
  allocated,
  allocationOf,
  type ResourceAllocation,
  sameAllocation,
  sameRequirements,
  withAllocation,
} from "../../src/domain/resize/allocation.ts";
import { generationOf } from "../../src/domain/resize/pod-resize.ts";
import { podCgroupName } from "../../src/domain/resources/cgroup-name.ts";
import { DEFAULT_PERIOD_US } from "../../src/domain/resources/cpu-units.ts";
import { podCgroupValues } from "../../src/domain/resources/pod-cgroup-values.ts";
import { podQosClass } from "../../src/domain/resources/qos-class.ts";
import { parseResourceList } from "../../src/domain/resources/resource-list.ts";
import { kindOf } from "../fake-api-server/kinds.ts";
import { isBelowUsage, resizeInProgress, resizePending } from "../resize-oracle.ts";
import type { Stage } from "./scenario.ts";

interface Standing {
  readonly pod: Pod;
  /** The allocation as last journaled. */
  readonly has: ResourceAllocation;
}

/** What is wrong with the running pods. `wholesStay`: pod-level resources cannot be changed on this node. */
export function wrongResizes(stage: Stage, wholesStay: boolean): readonly string[] {
  const all = [...stage.world.api.store.values(kindOf(pods))].map((object) => object as unknown as Pod);
  // Pods that have not started yet hold resources too.
  const standing = all.flatMap((pod): readonly Standing[] => {
    const has = stage.oracle.resizes.allocationOf(pod.metadata?.uid ?? "");
    return has === undefined || isTerminal(pod.status?.phase) ? [] : [{ pod, has }];
  });
  const running = standing.filter(({ pod }) => pod.status?.phase === "Running");
  return running.flatMap((each) =>
    [...wrongWait(stage, each, standing, wholesStay), ...wrongState(stage, each)].map(
      (text) => `${each.pod.metadata?.name} ${text}`,
    ),
  );
}

/** A pod that lacks the resources it requests reports why, and the reason is true. */
function wrongWait(
  { world, node }: Stage,
  { pod, has }: Standing,
  standing: readonly Standing[],
  wholesStay: boolean,
): readonly string[] {
  const pending = resizePending(pod);
  if (sameAllocation(allocationOf(pod), has))
    return pending === undefined ? [] : ["has the requested resources and reports a pending resize"];
  if (pending === undefined) return ["lacks the requested resources and reports no pending resize"];
  if (pending.observedGeneration !== generationOf(pod)) return ["reports a pending resize of an old generation"];
  const isNever = wholesStay && !sameRequirements(pod.spec?.resources, has.podLevel);
  if (isNever !== (pending.reason === "Infeasible")) return [`waits, ${pending.reason}: ${pending.message}`];
  const others = standing.flatMap((one) => (one.pod === pod ? [] : [withAllocation(one.pod, one.has)]));
  const own = world.api.store.get(kindOf(nodes), `/${node.name}`)?.status as
    | { readonly allocatable?: Readonly<Record<string, string>> }
    | undefined;
  const isShort = shortages(pod, others, own?.allocatable ?? {}).length > 0;
  return isNever || isShort ? [] : [`waits although capacity is free: ${pending.message}`];
}

/**
 * No resize is in progress except one that cannot be done. The runtime and the status agree with the journaled
 * allocation.
 */
function wrongState(stage: Stage, { pod, has }: Standing): readonly string[] {
  const inProgress = resizeInProgress(pod);
  if (inProgress !== undefined) {
    const { reason, message } = inProgress;
    const isTrue = reason === "Error" && isBelowUsage(message) && usesMore(stage, pod, has);
    return isTrue ? [] : [`is still being resized: ${reason} ${message}`];
  }
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const reported = [...containerStatuses, ...initContainerStatuses].flatMap((status) => {
    const own = allocated(has, status.name);
    const role = containerNamed(pod.spec, status.name)?.role;
    if (own === undefined || role === "init" || status.state?.running === undefined) return [];
    const { allocatedResources: requests } = status;
    const isReported =
      sameRequirements(status.resources, own) &&
      sameRequirements({ requests: requests ?? {} }, { requests: own.requests ?? {} });
    return isReported
      ? []
      : [`reports ${status.name} ${JSON.stringify([status.resources, requests])}, not ${JSON.stringify(own)}`];
  });
  return [...reported, ...stage.oracle.resizes.unlike(pod, has), ...wrongGroup(stage, withAllocation(pod, has))];
}

const GROUPS = { cpuCfsQuota: true, cpuCfsQuotaPeriodUs: DEFAULT_PERIOD_US, podPidsLimit: -1n, hugepageSizes: [] };

/** The pod's cgroup is limited to what all its containers have together. */
function wrongGroup({ node: { cgroups } }: Stage, pod: Pod): readonly string[] {
  const uid = pod.metadata?.uid ?? "";
  if (!cgroups.has(`pod${uid}`)) return [];
  const is = cgroups.valuesOf(podCgroupName(podQosClass(pod), uid));
  const wanted = podCgroupValues(pod, GROUPS, {});
  return (["cpuShares", "cpuQuotaUs", "memoryLimitBytes"] as const)
    .filter((name) => wanted[name] !== undefined && wanted[name] !== is[name])
    .map((name) => `has a group with ${name} ${is[name]}, not ${wanted[name]}`);
}

/** Whether a running container uses at least as much memory as its allocated limit. */
function usesMore({ oracle }: Stage, pod: Pod, has: ResourceAllocation): boolean {
  const wanted = effective(has);
  return oracle.records(pod.metadata?.uid ?? "").some(({ config, state, process }) => {
    const limit = parseResourceList(allocated(wanted, config.metadata.name)?.limits).get("memory");
    return state === "running" && limit !== undefined && (process?.memoryBytes ?? 0n) >= quantityValue(limit);
  });
}

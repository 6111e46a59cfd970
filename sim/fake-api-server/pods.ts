/**
 * What the API server does to pods beyond its handling of any object: defaults, update validation, and graceful
 * deletion.
 */

import type { Container, Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import { type JsonObject, jsonEqual } from "../../src/base/json-equal.ts";
import { mayRestartAll } from "../../src/domain/pod/restart-all.ts";
import { restartsAfter } from "../../src/domain/pod/restart-policy.ts";
import { computeQosClass } from "../../src/domain/resources/qos-class.ts";
import { invalid } from "./refusal.ts";
import type { Draft, Stored } from "./stored.ts";

const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";
const DEFAULT_GRACE_SECONDS = 30;
const RESTART_POLICIES = ["Always", "OnFailure", "Never"];

export const asPod = (object: Draft | Stored): Pod => object as unknown as Pod;

export const isMirror = (object: Draft | Stored): boolean =>
  asPod(object).metadata?.annotations?.[MIRROR_ANNOTATION] !== undefined;

export function withPodDefaults(draft: Draft): Draft {
  const spec = asPod(draft).spec ?? { containers: [] };
  const account = isMirror(draft) ? {} : { serviceAccountName: "default", serviceAccount: "default" };
  const full = {
    restartPolicy: "Always",
    dnsPolicy: "ClusterFirst",
    terminationGracePeriodSeconds: DEFAULT_GRACE_SECONDS,
    schedulerName: "default-scheduler",
    securityContext: {},
    enableServiceLinks: true,
    preemptionPolicy: "PreemptLowerPriority",
    priority: 0,
    ...account,
    ...spec,
    containers: (spec.containers ?? []).map(withContainerDefaults),
    ...(spec.initContainers && { initContainers: spec.initContainers.map(withContainerDefaults) }),
  };
  return { ...draft, spec: full };
}

export const newPodStatus = (draft: Draft): JsonObject => ({
  phase: "Pending",
  qosClass: computeQosClass(asPod(draft).spec as PodSpec),
});

/** Makes podIP and podIPs agree. Where they differ, podIP wins unless it is empty. */
function withOneAddress(status: Pod["status"]): Pod["status"] {
  const { podIP = "", podIPs = [] } = status ?? {};
  const first = podIPs[0]?.ip ?? "";
  if (podIP === first) return status;
  return podIP === "" ? { ...status, podIP: first } : { ...status, podIPs: [{ ip: podIP }] };
}

/** Some fields of a pod's status cannot be cleared: they keep their value when a write omits them. */
export function withKeptPodStatus(before: Stored, status: JsonObject | undefined): JsonObject | undefined {
  const { qosClass, observedGeneration, conditions = [] } = asPod(before).status ?? {};
  const generations = new Map(conditions.map((condition) => [condition.type, condition.observedGeneration]));
  const sent = withOneAddress(status);
  return {
    ...(qosClass !== undefined && { qosClass }),
    ...(observedGeneration !== undefined && { observedGeneration }),
    ...sent,
    ...(sent?.conditions && {
      conditions: sent.conditions.map((condition) => {
        const known = generations.get(condition.type);
        return known === undefined ? condition : { observedGeneration: known, ...condition };
      }),
    }),
  };
}

function withContainerDefaults(container: Container): Container {
  const image = container.image ?? "";
  const isNewest = !/[:@][^/]*$/.test(image) || image.endsWith(":latest");
  return {
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: isNewest ? "Always" : "IfNotPresent",
    resources: {},
    ...container,
    ...(container.ports && { ports: container.ports.map((port) => ({ protocol: "TCP", ...port })) }),
  };
}

export function checkPod(draft: Draft): void {
  const { metadata, spec, status } = asPod(draft);
  const what = `Pod ${JSON.stringify(metadata?.name ?? "")}`;
  if ((spec?.containers ?? []).length === 0) throw invalid(what, "spec.containers: Required value");
  if (!RESTART_POLICIES.includes(spec?.restartPolicy ?? ""))
    throw invalid(what, `spec.restartPolicy: Unsupported value: "${spec?.restartPolicy}"`);
  const families = (status?.podIPs ?? []).map(({ ip }) => (ip.includes(":") ? "IPv6" : "IPv4"));
  if (new Set(families).size < families.length)
    throw invalid(what, "status.podIPs: Invalid value: may specify no more than one IP for each IP family");
  const names = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ name }) => name);
  if (new Set(names).size < names.length) throw invalid(what, "spec.containers: Duplicate value");
}

/** Checks which spec fields a write through this subresource may change; all others must stay. */
export function checkPodChange(before: Stored, after: Draft, subresource: string | undefined): void {
  const what = `Pod ${JSON.stringify(before.metadata.name)}`;
  if (subresource === "status") checkStates(what, asPod(before), asPod(after));
  const strip = subresource === "resize" ? withoutResources : withoutMutable;
  const [old, fresh] = [asPod(before).spec, asPod(after).spec] as readonly PodSpec[];
  if (old === undefined || fresh === undefined || jsonEqual(strip(old), strip(fresh))) return;
  const allowed = "spec.containers[*].image, spec.activeDeadlineSeconds, spec.tolerations";
  throw invalid(what, `spec: Forbidden: pod updates may not change fields other than ${allowed}`);
}

/** A terminated container may leave that state only if its restart policy, or a rule for all containers, restarts it. */
function checkStates(what: string, before: Pod, after: Pod): void {
  if (mayRestartAll(before)) return;
  const now = new Map((after.status?.containerStatuses ?? []).map((status) => [status.name, status]));
  for (const [index, { name, state }] of (before.status?.containerStatuses ?? []).entries()) {
    const container = before.spec?.containers.find((one) => one.name === name);
    const next = now.get(name);
    if (state?.terminated === undefined || container === undefined || next === undefined) continue;
    if (next.state?.terminated !== undefined || restartsAfter(before, container, state.terminated.exitCode)) continue;
    const field = `status.containerStatuses[${index}].state`;
    throw invalid(what, `${field}: Forbidden: may not be transitioned to non-terminated state`);
  }
}

const withoutImage = ({ image: _image, ...container }: Container) => container;

function withoutMutable({ activeDeadlineSeconds: _a, tolerations: _t, ...spec }: PodSpec) {
  const initContainers = spec.initContainers?.map(withoutImage);
  return { ...spec, containers: spec.containers.map(withoutImage), initContainers };
}

function withoutResources({ resources: _resources, ...spec }: PodSpec) {
  const strip = ({ resources: _r, ...container }: Container) => container;
  return { ...spec, containers: spec.containers.map(strip), initContainers: spec.initContainers?.map(strip) };
}

export type Deletion =
  /** The object is removed at once. */
  | { readonly kind: "remove" }
  /** The object is marked with no grace left, then removed. */
  | { readonly kind: "markAndRemove"; readonly deletionTimestamp: string }
  /** The object is marked. A later delete without grace removes it. */
  | { readonly kind: "mark"; readonly deletionTimestamp: string; readonly deletionGracePeriodSeconds: number }
  | { readonly kind: "nothing" };

/** The grace period only shrinks. A terminal or unbound pod is removed without grace. */
export function podDeletion(stored: Stored, askedSeconds: number | undefined, wallMs: number): Deletion {
  const { metadata, spec, status } = asPod(stored);
  const isTerminal = status?.phase === "Succeeded" || status?.phase === "Failed";
  const isUnbound = (spec?.nodeName ?? "") === "";
  const asked = askedSeconds ?? spec?.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
  const wanted = asked < 0 ? 1 : asked;
  const markedSeconds = metadata?.deletionGracePeriodSeconds;
  if (metadata?.deletionTimestamp !== undefined && markedSeconds !== undefined) {
    if (askedSeconds === undefined || wanted >= markedSeconds) return { kind: "nothing" };
    const endMs = Date.parse(metadata.deletionTimestamp) - (markedSeconds - wanted) * 1000;
    if (wanted === 0) return { kind: "markAndRemove", deletionTimestamp: timestamp(endMs) };
    return { kind: "mark", deletionTimestamp: timestamp(endMs), deletionGracePeriodSeconds: wanted };
  }
  if (wanted === 0 || isTerminal || isUnbound) return { kind: "remove" };
  return { kind: "mark", deletionTimestamp: timestamp(wallMs + wanted * 1000), deletionGracePeriodSeconds: wanted };
}

/** Formats times as the API does: in whole seconds. */
export const timestamp = (wallMs: number) => new Date(wallMs).toISOString().replace(/\.\d+Z$/, "Z");

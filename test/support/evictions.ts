/** What users see of an evicted pod, without the sizes that differ from run to run. */
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { type ClusterPods, conditionOf } from "./cluster-pods.ts";
import { readExposition } from "./exposition.ts";

export const isEvicted = ({ status }: Pod): boolean => status?.phase === "Failed" && status.reason === "Evicted";

/** Sizes differ from run to run; the threshold does not. */
export const withoutSizes = (text: string): string =>
  text.replaceAll(/(?<what>available: |was using )\d+(?:Ki|Mi|Gi|k)?/g, "$<what>SIZE");

/** Waits until the pod is evicted, and returns its final status, its condition DisruptionTarget and the event. */
export async function evictionOf(pods: ClusterPods, name: string, limitMs: number): Promise<object> {
  const pod = await pods.first(name, "was evicted", isEvicted, limitMs);
  const { reason, message = "", phase } = pod.status ?? {};
  const { status, reason: cause, message: why = "" } = conditionOf(pod, "DisruptionTarget") ?? {};
  const events = (await pods.eventsOf(name)).filter((event) => event.reason === "Evicted");
  return {
    phase,
    reason,
    message: withoutSizes(message),
    disruption: status === undefined ? "none" : { status, cause, why: withoutSizes(why) },
    events: events.map(({ type, message: text = "", metadata }) => {
      const { offending_containers_usage: usage, ...annotations } = metadata?.annotations ?? {};
      return { type, text: withoutSizes(text), annotations, hasUsage: usage !== undefined };
    }),
  };
}

/** The samples of a metric family with one label, by the label's value. */
export const samplesByLabel = (exposition: string, family: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    (readExposition(exposition).get(family)?.samples ?? []).map(({ labels, value }) => [
      Object.values(labels).join(),
      value,
    ]),
  );

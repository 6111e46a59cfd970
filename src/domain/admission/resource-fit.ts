/** Whether a pod's requests fit beside those of the pods before it, in the whole units that the messages use. */
import type { Container, Pod, PodSpec } from "../../api/gen/core-v1.ts";
import { type Quantity, quantityMilliValue, quantityValue } from "../../base/quantity.ts";
import { isExtendedResource } from "../node/capacity.ts";
import { podRequests, specOf } from "../resources/pod-resources.ts";
import { HUGEPAGES_PREFIX, parseResourceList, type ResourceList } from "../resources/resource-list.ts";

/** A resource that is insufficient. */
export interface Shortage {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

/** Reported first, in this order; other resources follow by name. */
const FIRST = ["cpu", "memory", "ephemeral-storage"];

export function shortages(
  pod: Pod,
  others: readonly Pod[],
  allocatable: Readonly<Record<string, string>>,
): readonly Shortage[] {
  const given = amounts(parseResourceList(allocatable));
  const found: Shortage[] = [];
  const [count, places] = [BigInt(others.length), given.get("pods") ?? 0n];
  if (count + 1n > places) found.push({ resource: "pods", requested: 1n, used: count, capacity: places });
  const asked = amounts(podRequests(withoutUnknown(specOf(pod), given), { overhead: true }));
  const used = sum(others.map(amountsOf));
  for (const resource of inOrder([...asked.keys()].filter(isCounted))) {
    const [requested = 0n, taken = 0n, capacity = 0n] = [asked.get(resource), used.get(resource), given.get(resource)];
    if (requested > 0n && requested > capacity - taken) found.push({ resource, requested, used: taken, capacity });
  }
  return found;
}

export const shortageMessage = ({ resource, requested, used, capacity }: Shortage): string =>
  `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;

const isCounted = (name: string): boolean =>
  FIRST.includes(name) ||
  name.startsWith(HUGEPAGES_PREFIX) ||
  name.startsWith("attachable-volumes-") ||
  name.includes("/");

/** Drops extended resources that this node does not have: other components account for them. */
function withoutUnknown(spec: PodSpec, given: ReadonlyMap<string, bigint>): PodSpec {
  const without = <C extends Container>(container: C): C => {
    const requests = Object.entries(container.resources?.requests ?? {});
    const known = requests.filter(([name]) => !isExtendedResource(name) || given.has(name));
    return { ...container, resources: { ...container.resources, requests: Object.fromEntries(known) } };
  };
  const { containers, initContainers = [] } = spec;
  return { ...spec, containers: containers.map(without), initContainers: initContainers.map(without) };
}

const inOrder = (names: readonly string[]): readonly string[] => {
  const place = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  return names.toSorted((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
};

/** CPU in millicores, every other resource in whole units; fractions round up. */
export const amountOf = (name: string, quantity: Quantity): bigint =>
  name === "cpu" ? quantityMilliValue(quantity) : quantityValue(quantity);

/** Cached by pod, because the amounts of each admitted pod are needed for every new pod. */
const remembered = new WeakMap<Pod, ReadonlyMap<string, bigint>>();

function amountsOf(pod: Pod): ReadonlyMap<string, bigint> {
  const known = remembered.get(pod) ?? amounts(podRequests(specOf(pod), { overhead: true }));
  remembered.set(pod, known);
  return known;
}

const amounts = (list: ResourceList): ReadonlyMap<string, bigint> =>
  new Map([...list].map(([name, quantity]) => [name, amountOf(name, quantity)]));

function sum(lists: readonly ReadonlyMap<string, bigint>[]): ReadonlyMap<string, bigint> {
  const all = new Map<string, bigint>();
  for (const list of lists) for (const [name, amount] of list) all.set(name, (all.get(name) ?? 0n) + amount);
  return all;
}

/** What a resize that does not fit waits for: text that follows the Go kubelet's message. */
import type { Node, Pod } from "../../api/gen/core-v1.ts";
import { amountOf, type Shortage, shortages } from "../admission/resource-fit.ts";
import { keyOf } from "../pod/pod-identity.ts";
import { podRequests, specOf } from "../resources/pod-resources.ts";

/** Longer lists would not be read. */
const NAMED_MAX = 3;

/** Empty if the resize does not wait for capacity. */
export function whoHoldsIt(desired: Pod, others: readonly Pod[], node: Node | undefined): string {
  const [short] = shortages(desired, others, node?.status?.allocatable ?? {});
  if (short === undefined || short.resource === "pods") return "";
  const free = short.capacity - short.used;
  if (short.requested > short.capacity) return "; this node does not have as much at all";
  return `; ${free > 0n ? free : 0n} free, waits for ${short.requested - free} more of ${holders(short, others)}`;
}

function holders({ resource }: Shortage, others: readonly Pod[]): string {
  const held = others
    .map((pod) => ({ name: keyOf(pod), amount: heldBy(pod, resource) }))
    .filter(({ amount }) => amount > 0n)
    .sort((a, b) => (a.amount === b.amount ? (a.name < b.name ? -1 : 1) : a.amount > b.amount ? -1 : 1));
  const named = held.slice(0, NAMED_MAX).map(({ name, amount }) => `${name} (${amount})`);
  const rest = held.length - named.length;
  return rest > 0 ? `${named.join(", ")} and ${rest} others` : named.join(", ");
}

function heldBy(pod: Pod, resource: string): bigint {
  const quantity = podRequests(specOf(pod), { overhead: true }).get(resource);
  return quantity === undefined ? 0n : amountOf(resource, quantity);
}

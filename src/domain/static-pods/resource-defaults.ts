/**
 * Defaults requests from limits, and rounds amounts to the precision that counts. Text that is not a quantity stays as
 * it is.
 */
import type { Container, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { addQuantities, formatQuantity, type Quantity } from "../../base/quantity.ts";
import { quantityOf, roundUpToMilli } from "../../base/quantity-text.ts";

type Amounts = Readonly<Record<string, string>>;

/** A missing request defaults to the container's limit of the same resource. */
export function requestsFromLimits(container: Container): Container {
  const { limits, requests } = container.resources ?? {};
  if (limits === undefined) return container;
  return { ...container, resources: { ...container.resources, requests: { ...limits, ...requests } } };
}

export function roundResources<T extends { readonly limits?: Amounts; readonly requests?: Amounts }>(resources: T): T {
  return {
    ...resources,
    ...(resources.limits === undefined ? {} : { limits: rounded(resources.limits) }),
    ...(resources.requests === undefined ? {} : { requests: rounded(resources.requests) }),
  };
}

const rounded = (amounts: Amounts): Amounts =>
  Object.fromEntries(
    Object.entries(amounts).map(([name, text]) => {
      const quantity = quantityOf(text);
      return [name, quantity === undefined ? text : formatQuantity(roundUpToMilli(quantity))];
    }),
  );

const isHugePages = (name: string) => name.startsWith("hugepages-");

/**
 * Defaults pod-level resources if the manifest sets any. Limits of huge pages default to the total limit of the
 * containers. Missing requests default to the total requests of the containers, or else to the pod's own limit.
 */
export function defaultPodResources(
  resources: ResourceRequirements | undefined,
  containers: readonly Container[],
  initContainers: readonly Container[],
): ResourceRequirements | undefined {
  if (resources === undefined) return undefined;
  const { limits: ownLimits = {}, requests: ownRequests = {} } = resources;
  if (Object.keys(ownLimits).length === 0 && Object.keys(ownRequests).length === 0) return resources;
  const total = (kind: "limits" | "requests") => together(containers, initContainers, (c) => c.resources?.[kind] ?? {});
  const limits = {
    ...Object.fromEntries([...total("limits")].filter(([name]) => isHugePages(name) && !(name in ownRequests))),
    ...ownLimits,
  };
  const named = (amounts: Amounts) => (Object.keys(amounts).length === 0 ? {} : { limits: amounts });
  if (Object.keys(limits).length === 0) return resources;
  const counted = (name: string) => name === "cpu" || name === "memory";
  const requests = {
    ...Object.fromEntries(Object.entries(limits).filter(([name]) => counted(name) || isHugePages(name))),
    ...Object.fromEntries([...total("requests")].filter(([name]) => counted(name))),
    ...ownRequests,
  };
  return {
    ...resources,
    ...named(limits),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  };
}

/**
 * The peak demand of the containers: all regular containers and sidecars together, or one init container beside the
 * sidecars before it.
 */
function together(
  containers: readonly Container[],
  initContainers: readonly Container[],
  amountsOf: (container: Container) => Amounts,
): ReadonlyMap<string, string> {
  const main = new Map<string, Quantity>();
  const starting = new Map<string, Quantity>();
  const sidecars = new Map<string, Quantity>();
  for (const container of containers) add(main, amountsOf(container));
  for (const container of initContainers) {
    if (container.restartPolicy === "Always") {
      add(main, amountsOf(container));
      add(sidecars, amountsOf(container));
      raise(starting, sidecars);
    } else {
      const now = new Map<string, Quantity>();
      add(now, amountsOf(container));
      for (const [name, amount] of sidecars) now.set(name, sum(now.get(name), amount));
      raise(starting, now);
    }
  }
  raise(main, starting);
  return new Map([...main].map(([name, amount]) => [name, formatQuantity(amount)]));
}

const sum = (a: Quantity | undefined, b: Quantity) => (a === undefined ? b : addQuantities(a, b));

function add(total: Map<string, Quantity>, amounts: Amounts): void {
  for (const [name, text] of Object.entries(amounts)) {
    const amount = quantityOf(text);
    if (amount !== undefined) total.set(name, sum(total.get(name), amount));
  }
}

function raise(total: Map<string, Quantity>, others: ReadonlyMap<string, Quantity>): void {
  for (const [name, amount] of others) {
    const held = total.get(name);
    if (held === undefined || amount.nanos > held.nanos) total.set(name, amount);
  }
}

/**
 * Resolves references to a container's limits and requests, in units of a divisor, rounded up. A limit that is not set
 * defaults to the pod-level limit, or else to the node's allocatable amount. Huge pages are never overcommitted and
 * have no such default.
 */
import type { Container, Pod, ResourceFieldSelector, ResourceRequirements } from "../../../api/gen/core-v1.ts";
import { parseQuantity, type Quantity, quantityMilliValue, quantityValue } from "../../../base/quantity.ts";
import { HUGEPAGES_PREFIX } from "../../resources/resource-list.ts";
import type { ReferredText } from "./field-reference.ts";

type Amounts = Readonly<Record<string, string>>;

const DEFAULTED = ["cpu", "memory", "ephemeral-storage"];
/** Of those, the resources that can have pod-level limits. */
const OF_PODS = ["cpu", "memory"];

/** For a variable of `container`, which may name another container of the pod. */
export function variableResource(
  selector: ResourceFieldSelector,
  pod: Pod,
  container: Pick<Container, "resources">,
  allocatable: Amounts,
): ReferredText {
  const defaults = { ...allocatable, ...podLimits(pod, allocatable) };
  const name = selector.containerName ?? "";
  if (name === "") return amount(selector, container.resources, defaults);
  const found = pod.spec?.containers.find((other) => other.name === name);
  if (found !== undefined) return amount(selector, found.resources, defaults);
  // Limits of an init container that is referenced by name have no default.
  const init = pod.spec?.initContainers?.find((other) => other.name === name);
  return init === undefined ? notFound(name) : amount(selector, init.resources, {});
}

/** For a file in a volume. Pod-level limits do not apply there. */
export function volumeResource(selector: ResourceFieldSelector, { spec }: Pod, allocatable: Amounts): ReferredText {
  const name = selector.containerName ?? "";
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const found = containers.find((container) => container.name === name);
  return found === undefined ? notFound(name) : amount(selector, found.resources, allocatable);
}

const notFound = (name: string): ReferredText => ({ kind: "refused", message: `container ${name} not found` });

function podLimits({ spec }: Pod, allocatable: Amounts): Amounts {
  const limits = spec?.resources?.limits ?? {};
  return Object.fromEntries(
    OF_PODS.flatMap((name) => {
      const limit = limits[name];
      return limit === undefined || isZero(limit) || allocatable[name] === undefined ? [] : [[name, limit] as const];
    }),
  );
}

const isZero = (text: string): boolean => parseQuantity(text).nanos === 0n;

function amount(
  { resource, divisor }: ResourceFieldSelector,
  resources: ResourceRequirements | undefined,
  defaults: Amounts,
): ReferredText {
  const { side, name } = /^(?<side>limits|requests)\.(?<name>.*)$/s.exec(resource)?.groups ?? {};
  if (name === undefined || !(DEFAULTED.includes(name) || name.startsWith(HUGEPAGES_PREFIX))) {
    return { kind: "refused", message: `unsupported container resource : ${resource}` };
  }
  const own = side === "limits" ? resources?.limits?.[name] : resources?.requests?.[name];
  const isSet = own !== undefined && !isZero(own);
  const given = isSet || side !== "limits" || !DEFAULTED.includes(name) ? own : (defaults[name] ?? own);
  const unit = divisor === undefined || isZero(divisor) ? "1" : divisor;
  const inUnits = name === "cpu" ? quantityMilliValue : quantityValue;
  return { kind: "text", text: divided(parseQuantity(given ?? "0"), parseQuantity(unit), inUnits) };
}

/** Divides in double precision, as upstream does: the last digits of very large amounts depend on it. */
const divided = (value: Quantity, unit: Quantity, inUnits: (quantity: Quantity) => bigint): string =>
  BigInt(Math.ceil(Number(inUnits(value)) / Number(inUnits(unit)))).toString();

/** Validates the resources of a container. Device claims are refused elsewhere: a static pod cannot have any. */
import type { ResourceRequirements } from "../../api/gen/core-v1.ts";
import { labelKeyTroubles } from "../../base/names.ts";
import type { Quantity } from "../../base/quantity.ts";
import { quantityOf } from "../../base/quantity-text.ts";
import type { FieldErrors } from "./field-errors.ts";

const standardNames = ["cpu", "memory", "ephemeral-storage"];
const isHugePages = (name: string) => name.startsWith("hugepages-");
/** Defined by Kubernetes, not by a device vendor. */
const isNative = (name: string) => !name.includes("/") || name.includes("kubernetes.io/");
const mayExceed = (name: string) => isNative(name) && !isHugePages(name);

export function validateResources(errors: FieldErrors, path: string, resources: ResourceRequirements): void {
  const { limits = {}, requests = {} } = resources;
  for (const [name, text] of Object.entries(limits)) {
    validateAmount(errors, `${path}.limits[${name}]`, name, quantityOf(text), text);
  }
  for (const [name, text] of Object.entries(requests)) {
    const amount = quantityOf(text);
    validateAmount(errors, `${path}.requests[${name}]`, name, amount, text);
    const limit = limits[name];
    const most = limit === undefined ? undefined : quantityOf(limit);
    if (amount === undefined) continue;
    if (limit === undefined || most === undefined) {
      if (!mayExceed(name)) errors.required(`${path}.limits`, "Limit must be set for non overcommitable resources");
    } else if (amount.nanos !== most.nanos && !mayExceed(name)) {
      errors.invalid(`${path}.requests`, text, `must be equal to ${name} limit of ${limit}`);
    } else if (amount.nanos > most.nanos) {
      errors.invalid(`${path}.requests`, text, `must be less than or equal to ${name} limit of ${limit}`);
    }
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory")) {
    errors.forbidden(path, "HugePages require cpu or memory");
  }
}

function validateAmount(
  errors: FieldErrors,
  path: string,
  name: string,
  amount: Quantity | undefined,
  text: string,
): void {
  const troubles = labelKeyTroubles(name);
  errors.invalid(path, name, ...troubles);
  if (troubles.length === 0 && !name.includes("/") && !standardNames.includes(name) && !isHugePages(name)) {
    errors.invalid(
      path,
      name,
      "must be a standard resource type or fully qualified",
      "must be a standard resource for containers",
    );
  }
  if (amount === undefined) return;
  if (amount.nanos < 0n) errors.invalid(path, text, "must be greater than or equal to 0");
  if (!isNative(name) && amount.nanos % 1_000_000_000n !== 0n) errors.invalid(path, text, "must be an integer");
}

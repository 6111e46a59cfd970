/** Reports everything that is wrong with a configuration at once. */
import { aggregate } from "../../base/go-text.ts";
import type { Checked } from "./rule.ts";
import { NUMBER_RULES } from "./rules-numbers.ts";
import { logging, OBSERVING_RULES } from "./rules-observing.ts";
import { POD_RULES } from "./rules-pods.ts";
import { RESOURCE_RULES } from "./rules-resources.ts";

const RULES = [...NUMBER_RULES, ...POD_RULES, ...RESOURCE_RULES, ...OBSERVING_RULES];

/** Returns undefined if nothing is wrong. */
export function configurationFault(checked: Checked): string | undefined {
  const unloggable = logging(checked);
  if (unloggable.length > 0) return `initialize logging: ${aggregate(unloggable)}`;
  const faults = RULES.flatMap((rule) => rule(checked));
  return faults.length > 0 ? `failed to validate kubelet configuration, error: ${aggregate(faults)}` : undefined;
}

/** What pods really use and request, computed from their scripts and specs and not from what the agent measures. */
import type { Pod } from "../src/api/gen/core-v1.ts";
import { parseQuantity, quantityValue } from "../src/base/quantity.ts";
import type { Use } from "./fake-runtime/behaviour.ts";
import type { ContainerRecord } from "./fake-runtime/records.ts";

export type Resource = "memory" | "disk" | "pids";

/** The smallest and the largest use in a period. */
export interface UseRange {
  readonly min: number;
  readonly max: number;
}

const FIELD = { memory: "memoryBytes", disk: "layerBytes", pids: "children" } as const satisfies Readonly<
  Record<Resource, keyof Use>
>;

/** What these containers of one pod used together between then and now. */
export function useBetween(records: Iterable<ContainerRecord>, resource: Resource, sinceMs: number): UseRange {
  let [min, max] = [0, 0];
  for (const { process } of records) {
    if (process === undefined) continue;
    const [from, now] = [process.useAt(sinceMs)[FIELD[resource]], process.use[FIELD[resource]]];
    const between = process.usesSince(sinceMs).map((use) => use[FIELD[resource]]);
    min += Math.min(from, now, ...between);
    max += Math.max(from, now, ...between);
  }
  return { min, max };
}

/** What the pod's containers request together. Undefined: it depends on init containers or on a resize. */
export function requestOf({ metadata, spec }: Pod, resource: Resource): number | undefined {
  if (resource === "pids") return 0;
  if ((metadata?.generation ?? 1) > 1 || spec?.resources !== undefined || spec?.overhead !== undefined)
    return undefined;
  const name = resource === "memory" ? "memory" : "ephemeral-storage";
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  const inits = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy !== "Always");
  if (inits.some(({ resources }) => resources?.requests?.[name] !== undefined)) return undefined;
  return [...(spec?.containers ?? []), ...sidecars]
    .map(({ resources }) => Number(quantityValue(parseQuantity(resources?.requests?.[name] ?? "0"))))
    .reduce((sum, each) => sum + each, 0);
}

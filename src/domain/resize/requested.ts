/** The changes that a new spec requests, as the metric counts them: by resource, requirement and operation. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { compareQuantities } from "../../base/quantity.ts";
import { parseResourceList } from "../resources/resource-list.ts";
import { resizable } from "./allocation.ts";

export interface RequestedResize {
  readonly resource: "memory" | "cpu";
  readonly requirement: "requests" | "limits";
  readonly operation: "add" | "remove" | "increase" | "decrease";
}

export function requestedResizes(before: Pod, after: Pod): readonly RequestedResize[] {
  const known = new Map(resizable(before).map((container) => [container.name, container]));
  return resizable(after).flatMap((container) => {
    const old = known.get(container.name);
    if (old === undefined) return [];
    return (["memory", "cpu"] as const).flatMap((resource) =>
      (["requests", "limits"] as const).flatMap((requirement) => {
        const operation = operationOf(
          old.resources?.[requirement]?.[resource],
          container.resources?.[requirement]?.[resource],
        );
        return operation === undefined ? [] : [{ resource, requirement, operation }];
      }),
    );
  });
}

function operationOf(before: string | undefined, after: string | undefined): RequestedResize["operation"] | undefined {
  if (before === after) return undefined;
  const [old, now] = [before, after].map((text) => parseResourceList(text === undefined ? {} : { text }).get("text"));
  if (now === undefined || now.nanos === 0n) return old === undefined || old.nanos === 0n ? undefined : "remove";
  if (old === undefined || old.nanos === 0n) return "add";
  const order = compareQuantities(now, old);
  return order === 0 ? undefined : order < 0 ? "decrease" : "increase";
}

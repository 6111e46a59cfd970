/** The order in which waiting resizes are tried: resources that one releases are free for the next. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { compareQuantities } from "../../base/quantity.ts";
import { podRequests, specOf } from "../resources/pod-resources.ts";
import { podQosClass } from "../resources/qos-class.ts";

export interface WaitingResize {
  readonly desired: Pod;
  readonly allocated: Pod;
  /** Since when the resize is reported as waiting; undefined: not reported yet. */
  readonly sinceWallMs: number | undefined;
}

/** Resizes that request no more than before come first; then by priority, QoS class and waiting time. */
export function inOrder<R extends WaitingResize>(resizes: readonly R[]): readonly R[] {
  const keyed = resizes.map((resize) => ({ resize, key: keyOf(resize) }));
  return keyed.toSorted((a, b) => compare(a.key, b.key)).map(({ resize }) => resize);
}

type Key = readonly number[];

const keyOf = ({ desired, allocated, sinceWallMs }: WaitingResize): Key => [
  increases(desired, allocated) ? 1 : 0,
  -(desired.spec?.priority ?? 0),
  podQosClass(desired) === "Guaranteed" ? 0 : 1,
  sinceWallMs ?? Number.POSITIVE_INFINITY,
];

function compare(a: Key, b: Key): number {
  for (const [place, value] of a.entries()) {
    const other = b[place] ?? 0;
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
}

/** Whether the pod as a whole would request more CPU or memory. */
function increases(desired: Pod, allocated: Pod): boolean {
  const [wants, has] = [desired, allocated].map((pod) => podRequests(specOf(pod), { overhead: false }));
  return ["cpu", "memory"].some((name) => {
    const [after, before] = [wants?.get(name), has?.get(name)];
    if (after === undefined) return false;
    return before === undefined ? after.nanos > 0n : compareQuantities(after, before) > 0;
  });
}

/**
 * How far a pod's setting up is: its init containers in their order, each begun when the one before has ended well, or, of a sidecar, has started.
 * What ran in an earlier sandbox has set up nothing in this one.
 */
import type { Container } from "../../api/gen/core-v1.ts";
import { FIRST_VERDICTS, isStarted } from "../probes/verdicts.ts";
import { type ContainerStep, decideContainer } from "./container-step.ts";
import { initContainers, regularContainers } from "./every-container.ts";
import type { PodSnapshot } from "./pod-snapshot.ts";
import { hasFailed } from "./restart-policy.ts";
import type { PodContainer } from "./runtime-view.ts";

export interface InitPlan {
  /** "failed": one of them has failed for good, and with it the pod. */
  readonly kind: "done" | "underWay" | "failed";
  /** What is next for each that has something to do, by its name. */
  readonly steps: ReadonlyMap<string, ContainerStep>;
}

export function initPlan(snapshot: PodSnapshot, sandboxId: string): InitPlan {
  const all = initContainers(snapshot.pod.spec);
  const reached = placeReached(snapshot, sandboxId);
  const steps = new Map<string, ContainerStep>();
  for (const [place, roled] of all.entries()) {
    // It has ended well, though the runtime may have forgotten it since.
    if (roled.role === "init" && place < reached) continue;
    const step = decideContainer(snapshot, roled, sandboxId);
    steps.set(roled.container.name, step);
    const { next } = step;
    if (roled.role === "sidecar") {
      const isStarted = next.kind === "keep" && hasStarted(snapshot, roled.container, next.running);
      if (place >= reached && !isStarted) return { kind: "underWay", steps };
      continue;
    }
    if (next.kind !== "done") return { kind: "underWay", steps };
    if (next.last === undefined || hasFailed(next.last)) return { kind: "failed", steps };
  }
  return { kind: "done", steps };
}

/** As its startup probe says, where it has one. */
const hasStarted = ({ verdicts }: PodSnapshot, container: Container, { id, state }: PodContainer): boolean =>
  state === "running" && isStarted(container, verdicts.get(id) ?? FIRST_VERDICTS);

/** The place of the last of them that was begun in this sandbox; beyond all of them once a regular container was. */
function placeReached({ pod, view }: PodSnapshot, sandboxId: string): number {
  const begun = new Set(
    view.containers.filter((one) => one.sandboxId === sandboxId).map(({ metadata }) => metadata.name),
  );
  const all = initContainers(pod.spec);
  if (regularContainers(pod.spec).some(({ container }) => begun.has(container.name))) return all.length;
  return all.findLastIndex(({ container }) => begun.has(container.name));
}

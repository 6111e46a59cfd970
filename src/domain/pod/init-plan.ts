/**
 * The progress of a pod's initialization. Init containers run in order: each starts after the previous init container
 * has succeeded, or after the previous sidecar has started. Init containers that ran in another sandbox do not count
 * for the current one.
 */
import type { Container } from "../../api/gen/core-v1.ts";
import { FIRST_VERDICTS, isStarted } from "../probes/verdicts.ts";
import { type ContainerStep, decideContainer } from "./container-step.ts";
import { initContainers, regularContainers } from "./containers.ts";
import type { PodSnapshot } from "./pod-snapshot.ts";
import { hasFailed } from "./restart-policy.ts";
import type { PodContainer } from "./runtime-view.ts";

export interface InitPlan {
  /** "failed": an init container has failed for good, and the pod with it. */
  readonly kind: "done" | "underWay" | "failed";
  /** The next step of each init container that has something to do, by name. */
  readonly steps: ReadonlyMap<string, ContainerStep>;
}

export function initPlan(snapshot: PodSnapshot, sandboxId: string): InitPlan {
  const all = initContainers(snapshot.pod.spec);
  const reached = placeReached(snapshot, sandboxId);
  const steps = new Map<string, ContainerStep>();
  for (const [place, containerSpec] of all.entries()) {
    // This init container has succeeded, even if the runtime no longer has it.
    if (containerSpec.role === "init" && place < reached) continue;
    const step = decideContainer(snapshot, containerSpec, sandboxId);
    steps.set(containerSpec.container.name, step);
    const { next } = step;
    if (containerSpec.role === "sidecar") {
      const isStarted = next.kind === "keep" && hasStarted(snapshot, containerSpec.container, next.running);
      if (place >= reached && !isStarted) return { kind: "underWay", steps };
      continue;
    }
    if (next.kind !== "done") return { kind: "underWay", steps };
    if (next.last === undefined || hasFailed(next.last)) return { kind: "failed", steps };
  }
  return { kind: "done", steps };
}

/** A sidecar with a startup probe has started once that probe succeeds. */
const hasStarted = ({ verdicts }: PodSnapshot, container: Container, { id, state }: PodContainer): boolean =>
  state === "running" && isStarted(container, verdicts.get(id) ?? FIRST_VERDICTS);

/**
 * The index of the last init container that exists in this sandbox. Once a regular container exists in it, the number
 * of init containers.
 */
function placeReached({ pod, view }: PodSnapshot, sandboxId: string): number {
  const begun = new Set(
    view.containers.filter((one) => one.sandboxId === sandboxId).map(({ metadata }) => metadata.name),
  );
  const all = initContainers(pod.spec);
  if (regularContainers(pod.spec).some(({ container }) => begun.has(container.name))) return all.length;
  return all.findLastIndex(({ container }) => begun.has(container.name));
}

/** Decides which containers to stop, why, and which containers must terminate before them. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { initContainers, regularContainers } from "./containers.ts";
import { containerNameOf, mayRun, newestOf, type PodContainer, type PodRuntimeView } from "./runtime-view.ts";
import type { SandboxFlaw } from "./sandbox-decision.ts";

export type StopReason =
  | { readonly kind: "podEnds" }
  | { readonly kind: "sandboxChanged"; readonly flaw: SandboxFlaw }
  | { readonly kind: "cgroupMissing" }
  | { readonly kind: "definitionChanged" }
  | { readonly kind: "probeFailed"; readonly probe: "liveness" | "startup" }
  /** The container gets other resources only by restarting. */
  | { readonly kind: "resized" }
  /** Its postStart hook failed. */
  | { readonly kind: "postStartFailed" }
  /** An older instance of a container, or a container that the spec does not name. */
  | { readonly kind: "superseded" }
  /** The exit of another container restarts all containers of the pod. */
  | { readonly kind: "restartingAll" }
  /** The runtime does not know whether the container runs. After one stop it is known not to. */
  | { readonly kind: "stateUnknown" };

export interface ContainerStop {
  readonly id: string;
  readonly name: string;
  readonly reason: StopReason;
  /** IDs of the containers that must terminate before this one is stopped, as long as time remains. */
  readonly after?: readonly string[];
}

export const stop = (container: PodContainer, reason: StopReason): ContainerStop => ({
  id: container.id,
  name: containerNameOf(container),
  reason,
});

/**
 * Stops every container that may run. A sidecar stops after the containers it serves: the regular containers and the
 * sidecars that started after it.
 */
export function stopsOfAll(pod: Pod | undefined, view: PodRuntimeView, reason: StopReason): readonly ContainerStop[] {
  const running = view.containers.filter(mayRun);
  const idOf = (name: string) => running.filter((container) => containerNameOf(container) === name).map(({ id }) => id);
  const before = new Map<string, readonly string[]>();
  let users = regularContainers(pod?.spec).flatMap(({ container }) => idOf(container.name));
  for (const { role, container } of initContainers(pod?.spec).toReversed()) {
    if (role !== "sidecar") continue;
    before.set(container.name, users);
    users = [...users, ...idOf(container.name)];
  }
  return running.map((container) => {
    const after = before.get(containerNameOf(container)) ?? [];
    const own = stop(container, reason);
    return after.length === 0 || newestOf(view, own.name)?.id !== own.id ? own : { ...own, after };
  });
}

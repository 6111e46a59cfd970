/** Which containers are to be stopped, why, and after which others. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { initContainers, regularContainers } from "./every-container.ts";
import { containerNameOf, mayRun, newestOf, type PodContainer, type PodRuntimeView } from "./runtime-view.ts";
import type { SandboxFlaw } from "./sandbox-decision.ts";

export type StopReason =
  | { readonly kind: "podEnds" }
  | { readonly kind: "sandboxChanged"; readonly flaw: SandboxFlaw }
  | { readonly kind: "cgroupMissing" }
  | { readonly kind: "definitionChanged" }
  | { readonly kind: "probeFailed"; readonly probe: "liveness" | "startup" }
  /** It takes other resources only by starting again. */
  | { readonly kind: "resized" }
  /** What it wanted done upon its start could not be done. */
  | { readonly kind: "postStartFailed" }
  /** An older instance of a container that has a newer one. */
  | { readonly kind: "superseded" }
  /** Another has ended in a way that all are to be restarted for. */
  | { readonly kind: "restartingAll" }
  /** The runtime does not know whether it runs; stopped once, it is known not to. */
  | { readonly kind: "stateUnknown" };

export interface ContainerStop {
  readonly id: string;
  readonly name: string;
  readonly reason: StopReason;
  /** Ids of those that must have ended before it is asked to, as long as there is time. */
  readonly after?: readonly string[];
}

export const stop = (container: PodContainer, reason: StopReason): ContainerStop => ({
  id: container.id,
  name: containerNameOf(container),
  reason,
});

/** Everything that may run. A sidecar goes after what it was started for: the regular containers, and the sidecars that came after it. */
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

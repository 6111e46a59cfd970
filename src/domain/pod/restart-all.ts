/**
 * RestartAllContainers: restarts all containers of a pod in place when a restart rule of one of them requires it on its
 * exit. Running containers are killed, then all are removed. The pod is then initialized and run again in the same
 * sandbox, as if none of them had ever exited. Containers whose exit triggered the restart are removed last, so that a
 * later kubelet process finds the cause.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { type ContainerStop, stop } from "./container-stops.ts";
import { type ContainerSpec, initContainers, regularContainers } from "./containers.ts";
import { ruleFor } from "./restart-policy.ts";
import { instancesOf, mayRun, type PodContainer, type PodRuntimeView } from "./runtime-view.ts";

/** Of a container removed for this: its waiting reason, and the reason of its last termination. */
export const RESTARTING_ALL = {
  reason: "RestartingAllContainers",
  message: "The container is removed because RestartAllContainers in place",
} as const;

const restartable = ({ spec }: Pod): readonly ContainerSpec[] => [...regularContainers(spec), ...initContainers(spec)];

/** Whether any container has a rule with this action. */
export const mayRestartAll = (pod: Pod): boolean =>
  restartable(pod).some(({ container }) =>
    (container.restartPolicyRules ?? []).some(({ action }) => action === "RestartAllContainers"),
  );

/**
 * Whether a container has exited in a way that restarts all. A container known only from the journal was already
 * removed.
 */
export const isRestartingAll = (pod: Pod, view: PodRuntimeView): boolean =>
  restartable(pod).some((containerSpec) => {
    const [newest] = instancesOf(view, containerSpec.container.name);
    return newest !== undefined && newest.sandboxId !== "" && asksForAll(containerSpec, newest);
  });

const asksForAll = ({ container }: ContainerSpec, { state, exitCode }: PodContainer): boolean =>
  state === "exited" && ruleFor(container, exitCode)?.action === "RestartAllContainers";

export type RestartAllStep =
  | { readonly kind: "stopContainers"; readonly containers: readonly ContainerStop[] }
  /** `last`: the containers whose exit triggered the restart. */
  | { readonly kind: "removeForRestart"; readonly first: readonly string[]; readonly last: readonly string[] };

/** The next step; undefined if no exit requires a restart of all containers. */
export function restartAllStep(pod: Pod, view: PodRuntimeView): RestartAllStep | undefined {
  if (!mayRestartAll(pod) || !isRestartingAll(pod, view)) return undefined;
  const all = restartable(pod).flatMap((containerSpec) =>
    instancesOf(view, containerSpec.container.name).map((one) => ({ containerSpec, one })),
  );
  const running: readonly ContainerStop[] = all
    .filter(({ one }) => mayRun(one))
    .map(({ one }) => stop(one, { kind: "restartingAll" }));
  if (running.length > 0) return { kind: "stopContainers", containers: running };
  const isSource = ({ containerSpec, one }: (typeof all)[number]) => asksForAll(containerSpec, one);
  const idsOf = (which: typeof all) => which.map(({ one }) => one.id);
  return {
    kind: "removeForRestart",
    first: idsOf(all.filter((each) => !isSource(each))),
    last: idsOf(all.filter(isSource)),
  };
}

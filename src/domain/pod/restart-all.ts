/**
 * The restart of all containers of a pod in its place, as a rule of one of them asks for upon its end: whatever runs is killed, then all are removed, and the
 * pod is set up and run again in the same sandbox, as if none of them had ever ended. Those whose end asked for it are removed last, so that an agent after us
 * finds why it was begun.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { type ContainerStop, stop } from "./container-stops.ts";
import { initContainers, type RoledContainer, regularContainers } from "./every-container.ts";
import { ruleFor } from "./restart-policy.ts";
import { instancesOf, mayRun, type PodContainer, type PodRuntimeView } from "./runtime-view.ts";

/** What a container waits for, and how its last run ended, when it was removed for this. */
export const RESTARTING_ALL = {
  reason: "RestartingAllContainers",
  message: "The container is removed because RestartAllContainers in place",
} as const;

const restartable = ({ spec }: Pod): readonly RoledContainer[] => [...regularContainers(spec), ...initContainers(spec)];

/** Whether any of its rules may ask for it. */
export const mayRestartAll = (pod: Pod): boolean =>
  restartable(pod).some(({ container }) =>
    (container.restartPolicyRules ?? []).some(({ action }) => action === "RestartAllContainers"),
  );

/** Whether one of its containers has ended so that all are to be restarted. What is only remembered was removed already. */
export const isRestartingAll = (pod: Pod, view: PodRuntimeView): boolean =>
  restartable(pod).some((roled) => {
    const [newest] = instancesOf(view, roled.container.name);
    return newest !== undefined && newest.sandboxId !== "" && asksForAll(roled, newest);
  });

const asksForAll = ({ container }: RoledContainer, { state, exitCode }: PodContainer): boolean =>
  state === "exited" && ruleFor(container, exitCode)?.action === "RestartAllContainers";

export type RestartAllStep =
  | { readonly kind: "stopContainers"; readonly containers: readonly ContainerStop[] }
  /** `last` are those whose end asks for it. */
  | { readonly kind: "removeForRestart"; readonly first: readonly string[]; readonly last: readonly string[] };

/** What is next of it; undefined: nothing asks for it. */
export function restartAllStep(pod: Pod, view: PodRuntimeView): RestartAllStep | undefined {
  if (!mayRestartAll(pod) || !isRestartingAll(pod, view)) return undefined;
  const all = restartable(pod).flatMap((roled) =>
    instancesOf(view, roled.container.name).map((one) => ({ roled, one })),
  );
  const running: readonly ContainerStop[] = all
    .filter(({ one }) => mayRun(one))
    .map(({ one }) => stop(one, { kind: "restartingAll" }));
  if (running.length > 0) return { kind: "stopContainers", containers: running };
  const isSource = ({ roled, one }: (typeof all)[number]) => asksForAll(roled, one);
  const idsOf = (which: typeof all) => which.map(({ one }) => one.id);
  return {
    kind: "removeForRestart",
    first: idsOf(all.filter((each) => !isSource(each))),
    last: idsOf(all.filter(isSource)),
  };
}

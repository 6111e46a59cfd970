/** Whom the secrets of a pod's volumes belong to, and what a volume's group may do with it. */
import type { Pod } from "../../api/gen/core-v1.ts";

/** The one user that every container of the pod runs as; undefined: there are several, or one is left to the image. */
export function podFileUser({ spec }: Pod): number | undefined {
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const users = new Set(
    containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser),
  );
  return users.size === 1 ? [...users][0] : undefined;
}

export const podFileGroup = ({ spec }: Pod): number | undefined => spec?.securityContext?.fsGroup;

/** What an ownership pass adds to the mode of a file in a volume that is written for the pod, not by it. */
export const GROUP_READS = 0o440;
export const GROUP_ENTERS = 0o2550;

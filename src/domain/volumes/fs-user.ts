/** The owner of the secrets in a pod's volumes. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { allContainers } from "../pod/containers.ts";

/**
 * The one user that every container of the pod runs as. Undefined: there are several, or the image decides for one of
 * them.
 */
export function podFileUser({ spec }: Pod): number | undefined {
  const users = new Set(
    allContainers(spec).map(({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser),
  );
  return users.size === 1 ? [...users][0] : undefined;
}

export const podFileGroup = ({ spec }: Pod): number | undefined => spec?.securityContext?.fsGroup;

/** Whom the secrets of a pod's volumes belong to. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { everyContainer } from "../pod/every-container.ts";

/** The one user that every container of the pod runs as; undefined: there are several, or one is left to the image. */
export function podFileUser({ spec }: Pod): number | undefined {
  const users = new Set(
    everyContainer(spec).map(({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser),
  );
  return users.size === 1 ? [...users][0] : undefined;
}

export const podFileGroup = ({ spec }: Pod): number | undefined => spec?.securityContext?.fsGroup;

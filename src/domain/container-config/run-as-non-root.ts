/**
 * Whether a container with runAsNonRoot would run as root. Only a numeric user can be verified: the UID of a user name
 * is unknown.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { describePod, podNameOfObject } from "../pod/pod-names.ts";
import type { ImageUser } from "./security-context.ts";

const UID_MAX = 2_147_483_647n;

/** Returns upstream's error; undefined: the container may be created. */
export function whyNotNonRoot(pod: Pod, container: Container, { uid, username }: ImageUser): string | undefined {
  const [ofPod, own] = [pod.spec?.securityContext, container.securityContext];
  if ((own?.runAsNonRoot ?? ofPod?.runAsNonRoot) !== true) return undefined;
  const whose = `(pod: "${describePod(podNameOfObject(pod))}", container: ${container.name})`;
  const asked = own?.runAsUser ?? ofPod?.runAsUser;
  if (asked !== undefined) return asked === 0 ? `container's runAsUser breaks non-root policy ${whose}` : undefined;
  if (uid === undefined && username !== undefined) {
    return `container has runAsNonRoot and image has non-numeric user (${username}), cannot verify user is non-root ${whose}`;
  }
  // An image without a user runs as root.
  if ((uid ?? 0n) === 0n) return `container has runAsNonRoot and image will run as root ${whose}`;
  if (uid !== undefined && (uid < 0n || uid > UID_MAX)) {
    const range = `must be between 0 and ${UID_MAX}, inclusive`;
    return `container has runAsNonRoot and image has an invalid user id (${uid}). (Must be 1-(${UID_MAX})): ${range} ${whose}`;
  }
  return undefined;
}

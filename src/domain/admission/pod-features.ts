/**
 * Pod features that a node may lack: AppArmor in the kernel, strict groups in the runtime, and pod-level resources,
 * which the operator can disable.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { goQuote } from "../../base/go-text.ts";
import { apparmorOf, enforcesApparmor } from "../container-config/security-profiles.ts";
import { allContainers } from "../pod/containers.ts";
import { hasPodLevelResources, specOf } from "../resources/pod-resources.ts";
import type { AdmissionContext } from "./admission-context.ts";
import type { Rejection } from "./verdict.ts";

export function unenforcedApparmor(pod: Pod, { apparmor }: Pick<AdmissionContext, "apparmor">): Rejection | undefined {
  const containers = allContainers(pod.spec);
  if (!enforcesApparmor(pod, containers)) return undefined;
  const refused = (why: string): Rejection => ({ reason: "AppArmor", message: `Cannot enforce AppArmor: ${why}` });
  if (!apparmor) return refused("AppArmor is not enabled on the host");
  const profiles = containers.map((container) => apparmorOf(pod, container));
  const nameless = profiles.find((one) => one?.type === "Localhost" && (one.localhostProfile ?? "").trim() === "");
  return nameless && refused(`invalid empty AppArmor profile name: ${goQuote(nameless.type)}`);
}

export function unsupportedGroupsPolicy(
  { spec }: Pod,
  { strictGroups }: Pick<AdmissionContext, "strictGroups">,
): Rejection | undefined {
  const policy = spec?.securityContext?.supplementalGroupsPolicy;
  if (policy !== "Strict" || strictGroups) return undefined;
  return {
    reason: "SupplementalGroupsPolicyNotSupported",
    message: `SupplementalGroupsPolicy=${policy} is not supported in this node`,
  };
}

export function unsupportedPodResources(pod: Pod, { gates }: Pick<AdmissionContext, "gates">): Rejection | undefined {
  if (gates.podLevelResources || !hasPodLevelResources(specOf(pod))) return undefined;
  return { reason: "PodLevelResourcesNotSupported", message: "PodLevelResources feature gate is disabled" };
}

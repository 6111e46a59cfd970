/** The seccomp and AppArmor profiles of a container: its own, else the pod's. */
import type { AppArmorProfile, Container, Pod, SeccompProfile } from "../../api/gen/core-v1.ts";
import { goQuote } from "../../base/go-text.ts";
import { joinPath } from "../../base/join-path.ts";
import type { SecurityProfile } from "../runtime/security.ts";

const APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/";

export interface SeccompSettings {
  /** Containers without a profile run under the runtime's default profile. */
  readonly seccompDefault: boolean;
  /** The directory of the node's own profiles. */
  readonly seccompRoot: string;
}

const seccompOf = (pod: Pod, container: Container): SeccompProfile | undefined =>
  container.securityContext?.seccompProfile ?? pod.spec?.securityContext?.seccompProfile;

export function seccompProfile(pod: Pod, container: Container, settings: SeccompSettings): SecurityProfile {
  const profile = seccompOf(pod, container);
  switch (profile?.type) {
    case "RuntimeDefault":
      return { kind: "runtimeDefault" };
    case "Localhost":
      return { kind: "localhost", reference: joinPath(settings.seccompRoot, profile.localhostProfile ?? "") };
    case undefined:
      return { kind: settings.seccompDefault ? "runtimeDefault" : "unconfined" };
    default:
      return { kind: "unconfined" };
  }
}

export function apparmorProfile(pod: Pod, container: Container): SecurityProfile | undefined {
  const profile = apparmorOf(pod, container);
  switch (profile?.type) {
    case "RuntimeDefault":
      return { kind: "runtimeDefault" };
    case "Unconfined":
      return { kind: "unconfined" };
    case "Localhost":
      return { kind: "localhost", reference: profile.localhostProfile ?? "" };
    default:
      return undefined;
  }
}

/** A static pod's manifest may still set the profile by annotation. */
export const apparmorOf = (pod: Pod, container: Container): AppArmorProfile | undefined =>
  container.securityContext?.appArmorProfile ??
  annotated(pod.metadata?.annotations?.[`${APPARMOR_ANNOTATION}${container.name}`]) ??
  pod.spec?.securityContext?.appArmorProfile;

/** Whether the pod or one of its containers requires that a profile be enforced. */
export function enforcesApparmor({ metadata, spec }: Pod, containers: readonly Container[]): boolean {
  const profiles = [spec, ...containers].map((one) => one?.securityContext?.appArmorProfile?.type);
  if (profiles.some((type) => type !== undefined && type !== "Unconfined")) return true;
  const said = Object.entries(metadata?.annotations ?? {}).find(([key]) => key.startsWith(APPARMOR_ANNOTATION));
  return said !== undefined && said[1] !== UNCONFINED;
}

const UNCONFINED = "unconfined";
const LOCALHOST_PREFIX = "localhost/";

function annotated(value: string | undefined): AppArmorProfile | undefined {
  if (value === "runtime/default") return { type: "RuntimeDefault" };
  if (value === UNCONFINED) return { type: "Unconfined" };
  if (value?.startsWith(LOCALHOST_PREFIX) !== true) return undefined;
  return { type: "Localhost", localhostProfile: value.slice(LOCALHOST_PREFIX.length) };
}

/** Returns upstream's error if the container's profile cannot be used. */
export function unusableProfile(pod: Pod, container: Container): string | undefined {
  const seccomp = seccompOf(pod, container);
  if (seccomp?.type === "Localhost" && (seccomp.localhostProfile ?? "") === "") {
    return "localhostProfile must be set if seccompProfile type is Localhost.";
  }
  // The API server rejects such a profile, but only this node validates the manifest of a static pod.
  if (seccomp?.type === "Localhost" && leavesRoot(seccomp.localhostProfile ?? "")) {
    return `seccompProfile.localhostProfile ${goQuote(seccomp.localhostProfile ?? "")} must be a descending relative path`;
  }
  const apparmor = apparmorOf(pod, container);
  if (apparmor?.type === "Localhost" && apparmor.localhostProfile === undefined) {
    return "missing localhost apparmor profile name";
  }
  return undefined;
}

const leavesRoot = (path: string): boolean => path.startsWith("/") || path.split("/").includes("..");

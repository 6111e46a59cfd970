/** The name a pod's processes see as their own. */
import type { Pod } from "../../api/gen/core-v1.ts";

const LABEL_MAX = 63;
const HOSTNAME_MAX = 64;

export type Hostname =
  | { readonly kind: "known"; readonly hostname: string }
  | { readonly kind: "tooLong"; readonly message: string };

export function podHostname(pod: Pod, clusterDomain: string): Hostname {
  const { spec, metadata } = pod;
  if (spec?.hostnameOverride !== undefined) return { kind: "known", hostname: spec.hostnameOverride };
  const hostname = spec?.hostname || truncated(metadata?.name ?? "");
  if (spec?.setHostnameAsFQDN !== true || !spec.subdomain) return { kind: "known", hostname };
  const qualified = `${hostname}.${spec.subdomain}.${metadata?.namespace ?? ""}.svc.${clusterDomain}`;
  if (qualified.length <= HOSTNAME_MAX) return { kind: "known", hostname: qualified };
  const message = `failed to construct FQDN from pod hostname and cluster domain, FQDN ${qualified} is too long (${HOSTNAME_MAX} characters is the max, ${qualified.length} characters requested)`;
  return { kind: "tooLong", message };
}

function truncated(name: string): string {
  return name.length <= LABEL_MAX ? name : name.slice(0, LABEL_MAX).replace(/[-.]+$/, "");
}

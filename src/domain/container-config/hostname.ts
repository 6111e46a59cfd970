/** The hostname and the domain that a pod's processes see as their own. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { goQuote } from "../../base/go-text.ts";
import { dnsLabelTroubles, dnsSubdomainTroubles } from "../../base/names.ts";

const LABEL_MAX = 63;
const HOSTNAME_MAX = 64;

export interface HostnameSettings {
  readonly clusterDomain: string;
  /** Whether a pod may override its hostname regardless of its other fields (the gate HostnameOverride). */
  readonly overrides: boolean;
}

export type Hostname =
  /**
   * `hostname` is set in the kernel; `short` and `domain` go into the hosts file. `domain` is empty for a pod without a
   * subdomain.
   */
  | { readonly kind: "known"; readonly hostname: string; readonly short: string; readonly domain: string }
  | { readonly kind: "refused"; readonly message: string };

const refused = (message: string): Hostname => ({ kind: "refused", message });

export function podHostname({ spec, metadata }: Pod, { clusterDomain, overrides }: HostnameSettings): Hostname {
  const { hostname = "", subdomain = "", hostnameOverride } = spec ?? {};
  if (overrides && hostnameOverride !== undefined) {
    const troubles = dnsSubdomainTroubles(hostnameOverride);
    const what = `pod HostnameOverride ${goQuote(hostnameOverride)} is not a valid DNS subdomain`;
    if (troubles.length > 0) return refused(`${what}: ${troubles.join(";")}`);
    const short = truncated(hostnameOverride);
    return { kind: "known", hostname: short, short, domain: "" };
  }
  for (const [field, name] of [
    ["Hostname", hostname],
    ["Subdomain", subdomain],
  ] as const) {
    const troubles = name === "" ? [] : dnsLabelTroubles(name);
    if (troubles.length > 0) {
      return refused(`pod ${field} ${goQuote(name)} is not a valid DNS label: ${troubles.join(";")}`);
    }
  }
  const short = truncated(hostname || (metadata?.name ?? ""));
  const domain = subdomain === "" ? "" : `${subdomain}.${metadata?.namespace ?? ""}.svc.${clusterDomain}`;
  if (spec?.setHostnameAsFQDN !== true || domain === "") return { kind: "known", hostname: short, short, domain };
  const qualified = `${short}.${domain}`;
  if (qualified.length <= HOSTNAME_MAX) return { kind: "known", hostname: qualified, short, domain };
  return refused(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${qualified} is too long (${HOSTNAME_MAX} characters is the max, ${qualified.length} characters requested)`,
  );
}

const truncated = (name: string): string =>
  name.length <= LABEL_MAX ? name : name.slice(0, LABEL_MAX).replace(/[-.]+$/, "");

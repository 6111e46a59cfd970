/** The names to request for a node's serving certificate: all of the node's addresses. */
import type { NodeAddress } from "../../api/gen/core-v1.ts";
import { parseIp } from "../../base/ip-address.ts";
import { type CertificateTemplate, nodeSubject } from "./certificate-pair.ts";

/** Undefined if the node lacks an IP address and, with `dnsIsEnough`, also a DNS name. */
export function servingTemplate(
  nodeName: string,
  addresses: readonly NodeAddress[],
  dnsIsEnough: boolean,
): CertificateTemplate | undefined {
  const names = addresses.flatMap(nameOf);
  const dnsNames = unique(names.filter(({ kind }) => kind === "dns").map(({ text }) => text));
  const ipAddresses = unique(names.filter(({ kind }) => kind === "ip").map(({ text }) => text));
  const isEnough = ipAddresses.length > 0 || (dnsIsEnough && dnsNames.length > 0);
  return isEnough ? { subject: nodeSubject(nodeName), dnsNames, ipAddresses } : undefined;
}

/** Returns no name or one. A host name may be an IP address; a DNS name of the cloud provider is never read as one. */
function nameOf({ type, address }: NodeAddress): readonly { readonly kind: "dns" | "ip"; readonly text: string }[] {
  if (address === "") return [];
  const ip = parseIp(address);
  switch (type) {
    case "Hostname":
      return [ip === undefined ? { kind: "dns", text: address } : { kind: "ip", text: ip.text }];
    case "InternalIP":
    case "ExternalIP":
      return ip === undefined ? [] : [{ kind: "ip", text: ip.text }];
    case "InternalDNS":
    case "ExternalDNS":
      return [{ kind: "dns", text: address }];
    default:
      return [];
  }
}

const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort();

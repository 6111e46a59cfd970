/**
 * The environment variables of Services. A pod gets those of its own namespace if it enables service links, and always
 * those of the API server's Service, `kubernetes` in the namespace `default`. Services without a cluster IP have no
 * variables.
 */
import type { Service } from "../../../api/gen/core-v1.ts";

const MASTER = { namespace: "default", name: "kubernetes" } as const;

/**
 * By variable name, in the order of Service names. Where two Services produce the same variable, the later one wins.
 */
export function serviceEnvironment(
  services: Iterable<Service>,
  namespace: string,
  links: boolean,
): ReadonlyMap<string, string> {
  const chosen = new Map<string, Service>();
  for (const service of services) {
    const { name = "", namespace: where } = service.metadata ?? {};
    const { clusterIP = "" } = service.spec ?? {};
    if (clusterIP === "" || clusterIP === "None") continue;
    const isMaster = where === MASTER.namespace && name === MASTER.name;
    // A Service with the same name in the pod's own namespace takes precedence over the API server's.
    if (isMaster ? !chosen.has(name) : links && where === namespace) chosen.set(name, service);
  }
  const sorted = [...chosen].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.flatMap(([name, service]) => variablesOf(name, service)));
}

function variablesOf(name: string, { spec }: Service): readonly (readonly [string, string])[] {
  const { clusterIP = "", ports = [] } = spec ?? {};
  const prefix = spelt(name);
  const [first] = ports;
  if (first === undefined) return [[`${prefix}_SERVICE_HOST`, clusterIP]];
  return [
    [`${prefix}_SERVICE_HOST`, clusterIP],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
    ...ports.flatMap(({ name: port = "", port: number }) =>
      port === "" ? [] : [[`${prefix}_SERVICE_PORT_${spelt(port)}`, String(number)] as const],
    ),
    [`${prefix}_PORT`, urlOf(clusterIP, first)],
    ...ports.flatMap((port) => linkOf(prefix, clusterIP, port)),
  ];
}

type Port = NonNullable<NonNullable<Service["spec"]>["ports"]>[number];

/** The variables of Docker links. */
function linkOf(prefix: string, address: string, port: Port): readonly (readonly [string, string])[] {
  const link = `${prefix}_PORT_${port.port}_${protocolOf(port)}`;
  return [
    [link, urlOf(address, port)],
    [`${link}_PROTO`, protocolOf(port).toLowerCase()],
    [`${link}_PORT`, String(port.port)],
    [`${link}_ADDR`, address],
  ];
}

const protocolOf = ({ protocol }: Port): string => (protocol || "TCP").toUpperCase();
const urlOf = (address: string, port: Port): string => {
  const host = address.includes(":") ? `[${address}]` : address;
  return `${protocolOf(port).toLowerCase()}://${host}:${port.port}`;
};
const spelt = (name: string): string => name.replaceAll("-", "_").toUpperCase();

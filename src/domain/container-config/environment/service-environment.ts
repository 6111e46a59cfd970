/**
 * The variables by which containers find Services: those of their own namespace where the pod wants them, and always the API server's own,
 * `kubernetes` of the namespace `default`. Services without an address of the cluster have none.
 */
import type { Service } from "../../../api/gen/core-v1.ts";

const MASTER = { namespace: "default", name: "kubernetes" } as const;

/** By name, the Services in the order of their names. Where two spell a variable alike the later one counts. */
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
    // One of the same name in the pod's own namespace stands before the master's.
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

/** As Docker once told containers of each other. */
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

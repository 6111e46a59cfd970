/**
 * Host ports that a pod requests, and whether another pod has them. A port on all addresses conflicts with any address.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { isSidecar } from "../pod/containers.ts";
import type { Rejection } from "./verdict.ts";

const EVERY_ADDRESS = "0.0.0.0";

interface HostPort {
  readonly address: string;
  readonly protocol: string;
  readonly port: number;
}

export function hostPortsTaken(pod: Pod, others: readonly Pod[]): Rejection | undefined {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return undefined;
  const taken = others.flatMap(hostPortsOf);
  if (!wanted.some((one) => taken.some((other) => clash(one, other)))) return undefined;
  const why = "node(s) didn't have free ports for the requested pod ports";
  return { reason: "NodePorts", message: `Predicate NodePorts failed: ${why}` };
}

/** Includes sidecars, which start before the other containers and keep running. */
function hostPortsOf({ spec }: Pod): readonly HostPort[] {
  const staying = (spec?.initContainers ?? []).filter(isSidecar);
  const ports = [...(spec?.containers ?? []), ...staying].flatMap((container) => container.ports ?? []);
  return ports.flatMap(({ hostIP = "", hostPort = 0, protocol = "TCP" }) =>
    hostPort <= 0 ? [] : [{ address: hostIP === "" ? EVERY_ADDRESS : hostIP, protocol, port: hostPort }],
  );
}

const clash = (one: HostPort, other: HostPort): boolean =>
  one.port === other.port &&
  one.protocol === other.protocol &&
  (one.address === other.address || one.address === EVERY_ADDRESS || other.address === EVERY_ADDRESS);

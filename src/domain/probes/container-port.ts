/** Resolves the port of a probe or a hook: a number, the name of a container port, or a number written as text. */
import type { Container } from "../../api/gen/core-v1.ts";

export type PortAnswer =
  | { readonly kind: "port"; readonly port: number }
  | { readonly kind: "refused"; readonly message: string };

export function resolvePort(wanted: number | string, { ports = [] }: Pick<Container, "ports">): PortAnswer {
  const named = typeof wanted === "string" ? ports.find(({ name }) => name === wanted)?.containerPort : wanted;
  if (named === undefined && !/^[-+]?\d+$/.test(String(wanted))) {
    return { kind: "refused", message: `strconv.Atoi: parsing ${JSON.stringify(wanted)}: invalid syntax` };
  }
  const port = named ?? Number(wanted);
  return port > 0 && port < 65_536
    ? { kind: "port", port }
    : { kind: "refused", message: `invalid port number: ${port}` };
}

/** Formats host and port. A host that contains colons gets brackets. */
export const hostAndPort = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

/** The port that a probe or a hook names: by number, by the name that the container gives it, or by a number written as text. */
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

/** As addresses are written: with brackets around what has colons itself. */
export const hostAndPort = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

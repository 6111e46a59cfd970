/** Finds the address by which others reach this node, from the kernel's routing tables. */
import { BlockList } from "node:net";
import type { InterfaceAddress } from "../../ports/machine.ts";
import type { KernelFiles } from "./kernel-files.ts";

type Family = InterfaceAddress["family"];

const LOOPBACK = "lo";

const notGlobal = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 32],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["224.0.0.0", 4],
  ["255.255.255.255", 32],
] as const) {
  notGlobal.addSubnet(network, prefix, "ipv4");
}
for (const [network, prefix] of [
  ["::", 128],
  ["::1", 128],
  ["fe80::", 10],
  ["ff00::", 8],
] as const) {
  notGlobal.addSubnet(network, prefix, "ipv6");
}

const isGlobal = ({ address, family }: InterfaceAddress) =>
  !notGlobal.check(address, family === "IPv4" ? "ipv4" : "ipv6");

/**
 * Takes the default routes in the kernel's order. The result is the first global address of a route's interface, or one
 * on the loopback interface because the links have none. Without routing tables it is the first global address of any
 * link.
 */
export async function findDefaultRouteAddress(
  files: KernelFiles,
  addresses: readonly InterfaceAddress[],
  family: Family,
): Promise<string | undefined> {
  const usable = addresses.filter((each) => each.family === family && isGlobal(each));
  const on = (interfaceName: string) => usable.find((each) => each.interfaceName === interfaceName)?.address;
  const table = await files.readFirst("/proc/net/route");
  if (table === undefined) return usable.find((each) => each.interfaceName !== LOOPBACK)?.address;
  const interfaces =
    family === "IPv4" ? defaultsOf4(table) : defaultsOf6(await files.readFirst("/proc/net/ipv6_route"));
  for (const interfaceName of interfaces) {
    const address = on(interfaceName) ?? on(LOOPBACK);
    if (address !== undefined) return address;
  }
  return undefined;
}

const rows = (table: string) => table.split("\n").map((line) => line.trim().split(/\s+/));
const isZero = (hex: string | undefined) => hex !== undefined && /^0+$/.test(hex);

const defaultsOf4 = (table: string) =>
  rows(table).flatMap(([interfaceName, destination]) => (isZero(destination) ? (interfaceName ?? []) : []));

/** A default route without a gateway is the kernel's own entry that rejects packets. */
const defaultsOf6 = (table = "") =>
  rows(table).flatMap((fields) => (isZero(fields[0]) && !isZero(fields[4]) ? (fields[9] ?? []) : []));

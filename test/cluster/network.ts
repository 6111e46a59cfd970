/**
 * The cluster's network, entirely inside namespaces that end with the processes in them.
 *
 * The control plane's namespace holds a bridge. One veth pair each connects it to the machine and to every node. The
 * machine's end is the only interface outside these namespaces. Static routes connect the pods of different nodes.
 */
import { command, tryCommand } from "./command.ts";
import { type ClusterLayout, type NodeLayout, POD_RANGE } from "./layout.ts";

/**
 * Runs a script of `ip` and sysctl lines in a namespace as one process: each process costs a fork on a busy machine.
 */
const inside = (pid: number, script: readonly string[]) =>
  command("nsenter", ["-t", String(pid), "--net", "--", "/bin/sh", "-ec", script.join("\n")]);

export async function joinMachine(layout: ClusterLayout, controlPlanePid: number): Promise<void> {
  const { machineInterface, machineAddress, address, prefixLength } = layout;
  await command("ip", [
    "link",
    "add",
    machineInterface,
    "type",
    "veth",
    "peer",
    "name",
    "machine",
    "netns",
    String(controlPlanePid),
  ]);
  await command("ip", ["addr", "add", `${machineAddress}/${prefixLength}`, "dev", machineInterface]);
  await command("ip", ["link", "set", machineInterface, "up"]);
  await inside(controlPlanePid, [
    "ip link set lo up",
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
    "ip link add link0 type bridge",
    `ip addr add ${address}/${prefixLength} dev link0`,
    "ip link set link0 up",
    "ip link set machine master link0 up",
  ]);
}

export async function joinNode(
  layout: ClusterLayout,
  node: NodeLayout,
  pids: { readonly controlPlane: number; readonly node: number },
  dualStack: boolean,
): Promise<void> {
  await inside(pids.controlPlane, [
    `ip link add ${node.name} type veth peer name eth0 netns ${pids.node}`,
    `ip link set ${node.name} master link0 up`,
    `ip route add ${node.podRange} via ${node.address}`,
  ]);
  await inside(pids.node, [
    "ip link set lo up",
    `ip addr add ${node.address}/${layout.prefixLength} dev eth0`,
    "ip link set eth0 up",
    // `nodad`: duplicate address detection would keep the address unusable for a second.
    ...(dualStack ? [`ip addr add ${node.ipv6Address}/80 dev eth0 nodad`] : []),
    `ip route add default via ${layout.address}`,
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
    "echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet",
    // Replies between two pods of one node must pass the Service rules too.
    "if [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]; then echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables; fi",
    `iptables -w -t nat -A POSTROUTING -s ${POD_RANGE} ! -d ${POD_RANGE} -j MASQUERADE`,
  ]);
}

/** Adds a route from one node to the pods of another. */
export async function routePods(pid: number, to: NodeLayout): Promise<void> {
  await inside(pid, [`ip route replace ${to.podRange} via ${to.address}`]);
}

export async function leaveMachine({ machineInterface }: ClusterLayout): Promise<void> {
  if (await interfaceExists(machineInterface)) {
    // The namespace at the other end may be ending right now, and the veth pair with it.
    const { code, stderr } = await tryCommand("ip", ["link", "del", machineInterface]);
    if (code !== 0 && (await interfaceExists(machineInterface))) throw new Error(stderr);
  }
}

export const interfaceExists = async (name: string) => (await tryCommand("ip", ["link", "show", name])).code === 0;

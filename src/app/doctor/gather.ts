/** Collects everything that doctor inspects on this host in one value for the diagnosis. */
import { parseIp } from "../../base/ip-address.ts";
import { quantityValue } from "../../base/quantity.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import type {
  ConfigurationSeen,
  DiskSeen,
  HostFacts,
  KernelSeen,
  Least,
  NodeSeen,
  WantedPort,
} from "../../domain/doctor/facts.ts";
import { type Probed, seenOf } from "../../domain/doctor/finding.ts";
import { KERNEL_TUNABLES } from "../../domain/host/kernel-tunables.ts";
import { needsResolving, nodeAddresses } from "../../domain/node/addresses.ts";
import type { MachineFacts } from "../../ports/machine.ts";
import type { CompiledOptions } from "../options/compiled-options.ts";
import { gatherApi, gatherIdentity } from "./gather-identity.ts";
import { gatherRuntime } from "./gather-runtime.ts";
import { probe, type Round } from "./probe-host.ts";

const SETTINGS = [
  "net.ipv4.ip_forward",
  "net.ipv6.conf.all.forwarding",
  "net.bridge.bridge-nf-call-iptables",
  "fs.inotify.max_user_instances",
  "fs.inotify.max_user_watches",
  "kernel.pid_max",
];

/**
 * A resolver without a server takes as long for its first attempt as doctor allows for a whole check. This limit leaves
 * time to inspect the default route.
 */
const LOOKUP_MS_MAX = 2_000;

const PROGRAMS = ["mount", "umount", "flock", "iptables"];

export async function gather(
  round: Round,
  { uid, configuration }: { readonly uid: number; readonly configuration: ConfigurationSeen },
): Promise<HostFacts> {
  const { ports, options } = round;
  const { inspector, clock } = ports;
  const { runtime, network } = await gatherRuntime(round);
  const { identity, question } = await gatherIdentity(round);
  const machine = await probe(round, () => ports.machine.facts());
  const { resolvConf } = options.pods;
  const wanted = wantedPorts(options);
  return {
    nowWallMs: clock.wallMs(),
    uid,
    configuration,
    node: await gatherNode(round),
    runtime,
    network,
    cgroups: {
      configured: options.cgroups.driver,
      systemd: await probe(round, () => inspector.isRunBySystemd()),
      tree: await probe(round, () => inspector.cgroupTree()),
    },
    swap: { failsOn: options.cgroups.failSwapOn, devices: await probe(round, () => inspector.swapDevices()) },
    kernel: await gatherKernel(round, machine),
    ports: {
      wanted,
      listeners: await probe(round, () => inspector.listeners(wanted.map(({ port }) => port))),
      agents: await probe(round, () => inspector.agents(`${options.directories.root}/deckhand/lock`)),
    },
    identity,
    api: await gatherApi(round, question, seenOf(machine)?.machineId),
    disks: await gatherDisks(round, runtime.imageDirectory),
    resolver: { path: resolvConf, text: await resolverText(round, resolvConf) },
    programs: {
      wantsIptables: options.configuration.makeIPTablesUtilChains,
      found: await probe(round, async () => {
        const found: Record<string, boolean> = {};
        for (const name of PROGRAMS) found[name] = await inspector.hasProgram(name);
        return found;
      }),
    },
  };
}

async function gatherNode(round: Round): Promise<NodeSeen> {
  const { ports, options } = round;
  const { name, ips, externalCloud } = options.node;
  const nodeIps = ips.map((text) => parseIp(text)).filter((ip) => ip !== undefined);
  const wanted = { hostname: name, nodeIps, externalCloud };
  const addressTrouble = await probe(round, async (signal) => {
    const local = new Set((await ports.machine.addresses()).map(({ address }) => parseIp(address)?.text ?? address));
    const asks = needsResolving(wanted, []);
    // A name that does not resolve is the usual case: the default route then decides, as it does for the agent.
    const lookup = (limited: AbortSignal) => ports.machine.lookup(name, limited);
    const resolved = asks ? await withDeadline(ports.clock, LOOKUP_MS_MAX, signal, lookup).catch(() => []) : [];
    const route = (family: "IPv4" | "IPv6") => (asks ? ports.machine.defaultRouteAddress(family) : undefined);
    const defaultRoutes = { IPv4: await route("IPv4"), IPv6: await route("IPv6") };
    const decision = nodeAddresses(wanted, [], { local, resolved, defaultRoutes });
    return decision.kind === "keep" ? decision.trouble : undefined;
  });
  return {
    name,
    standalone: options.api.kind === "standalone",
    addressTrouble,
    ipv6: nodeIps.some(({ family }) => family === "IPv6"),
  };
}

async function gatherKernel(round: Round, machine: Probed<MachineFacts>): Promise<KernelSeen> {
  const { ports, options } = round;
  const { kernel, inspector } = ports;
  const setting = async (name: string) => ({
    name,
    value: await kernel.read(name),
    writable: await kernel.isWritable(name),
  });
  return {
    release: machine.kind === "seen" ? { kind: "seen", value: machine.value.kernelVersion } : machine,
    protect: options.configuration.protectKernelDefaults,
    mayFail: options.gates.KubeletInUserNamespace,
    tunables: await probe(round, () =>
      Promise.all(KERNEL_TUNABLES.map(async ({ name, wanted }) => ({ ...(await setting(name)), wanted }))),
    ),
    settings: await probe(round, () => Promise.all(SETTINGS.map(setting))),
    fileSystems: await probe(round, () => inspector.fileSystems()),
    messages: options.gates.KubeletInUserNamespace
      ? undefined
      : await probe(round, async () => {
          await inspector.requireReadable("/dev/kmsg");
          return true as const;
        }),
  };
}

function wantedPorts({ server, healthz }: CompiledOptions): readonly WantedPort[] {
  const { enabled, address, port, readOnlyPort } = server;
  return [
    ...(enabled ? [{ use: "the node's own API", address, port }] : []),
    ...(enabled && readOnlyPort > 0 ? [{ use: "the read-only port", address, port: readOnlyPort }] : []),
    ...(healthz.kind === "on" ? [{ use: "healthz", address: healthz.address, port: healthz.port }] : []),
  ];
}

async function gatherDisks(round: Round, imageDirectory: string | undefined): Promise<readonly DiskSeen[]> {
  const { directories, eviction } = round.options;
  const least = (signal: string): Least | undefined => {
    const value = eviction.hard.find((each) => each.signal === signal)?.value;
    return value?.kind === "amount" ? { kind: "amount", amount: quantityValue(value.amount) } : value;
  };
  const nodefs = { bytesMin: least("nodefs.available"), inodesMin: least("nodefs.inodesFree") };
  const imagefs = { bytesMin: least("imagefs.available"), inodesMin: least("imagefs.inodesFree") };
  // nodefs is the file system of the agent's root directory, wherever the other directories are.
  const none = { bytesMin: undefined, inodesMin: undefined };
  const disks = [
    disk(round, { use: "the agent's directory", path: directories.root, ...nodefs }, true),
    disk(round, { use: "certificates", path: directories.certificates, ...none }, true),
    disk(round, { use: "logs of pods", path: directories.podLogs, ...none }, true),
    ...(imageDirectory === undefined ? [] : [disk(round, { use: "images", path: imageDirectory, ...imagefs }, false)]),
  ];
  return Promise.all(disks);
}

async function disk(
  round: Round,
  { path, ...rest }: Pick<DiskSeen, "use" | "path" | "bytesMin" | "inodesMin">,
  isOurs: boolean,
): Promise<DiskSeen> {
  const { machine, inspector } = round.ports;
  return {
    ...rest,
    path,
    room: await probe(round, async () => machine.filesystem(await inspector.nearest(path))),
    writeTrouble: isOurs
      ? await probe(round, async () => inspector.writeTrouble(await inspector.nearest(path)))
      : undefined,
  };
}

async function resolverText(round: Round, path: string): Promise<HostFacts["resolver"]["text"]> {
  if (path === "") return { kind: "text", text: "" };
  const text = await probe(round, () => round.ports.inspector.text(path));
  return text.kind === "seen" ? { kind: "text", text: text.value } : { kind: "refused", why: text.why };
}

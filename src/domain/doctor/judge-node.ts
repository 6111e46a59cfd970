/** Judges the configuration, the node's name and address, and the ports that the agent listens on. */

import { parseIp, scopeOf } from "../../base/ip-address.ts";
import { dnsSubdomainTroubles } from "../../base/names.ts";
import type { ConfigurationSeen, HostFacts, Listener, NodeSeen, PortsSeen, WantedPort } from "./facts.ts";
import { type Findings, finding, seenOf, unseen } from "./finding.ts";

export function* judgeConfiguration({ configuration, uid }: HostFacts): Findings {
  const { refused, lenient, warnings, notImplemented, access }: ConfigurationSeen = configuration;
  if (refused !== undefined)
    yield finding("configuration-refused", `${refused} (other checks that depend on it were skipped)`);
  if (lenient !== undefined) yield finding("configuration-lenient", lenient);
  for (const warning of warnings) yield finding("configuration-warning", warning);
  for (const feature of notImplemented) yield finding("feature-not-implemented", feature);
  if (access !== undefined) yield finding("access-refused", access);
  if (uid !== 0) yield finding("not-root", `doctor runs as user ${uid}`);
}

export function* judgeNode({ name, standalone, addressTrouble }: NodeSeen): Findings {
  if (standalone) yield finding("standalone", "no --kubeconfig was given");
  const troubles = dnsSubdomainTroubles(name);
  if (troubles.length > 0)
    yield finding("node-name-invalid", `the node's name is ${JSON.stringify(name)}: ${troubles[0]}`);
  yield* unseen({ "the node's address": addressTrouble });
  const trouble = seenOf(addressTrouble);
  if (trouble !== undefined) yield finding("node-address-unusable", trouble);
}

export function* judgePorts({ wanted, listeners, agents }: PortsSeen): Findings {
  yield* unseen({ "who listens on this host": listeners, "which agents run on this host": agents });
  const running = seenOf(agents) ?? [];
  const ours = running.filter(({ isDeckhand }) => isDeckhand);
  const reported = (list: typeof running) => list.map(({ pid, command }) => `pid ${pid} (${command})`).join(", ");
  if (ours.length === 1) yield finding("agent-running", reported(ours));
  if (ours.length > 1) yield finding("second-agent", reported(ours));
  for (const other of running.filter(({ isDeckhand }) => !isDeckhand))
    yield finding("another-kubelet", reported([other]));
  // A port that an agent holds was reported with that agent.
  const known = new Set(running.map(({ pid }) => pid));
  for (const port of wanted) {
    const taken = (seenOf(listeners) ?? []).find(
      (each) => isInTheWay(port, each) && !(each.process !== undefined && known.has(each.process.pid)),
    );
    if (taken !== undefined) yield finding("port-taken", portTaken(port, taken));
  }
}

function portTaken({ use, address, port }: WantedPort, { address: at, process }: Listener): string {
  const by =
    process === undefined ? "a process that cannot be seen from here" : `pid ${process.pid} (${process.command})`;
  return `${address}:${port}, for ${use}, is taken by ${by}, which listens on ${at}`;
}

/** A wildcard address of either family takes the port on every address; the IPv6 wildcard takes IPv4 addresses too. */
function isInTheWay(wanted: WantedPort, { address, port }: Listener): boolean {
  return wanted.port === port && (isWildcard(wanted.address) || isWildcard(address) || wanted.address === address);
}

function isWildcard(text: string): boolean {
  const address = parseIp(text);
  return address !== undefined && scopeOf(address) === "unspecified";
}

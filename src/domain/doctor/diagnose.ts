/**
 * What is wrong with a host, from what was seen of it. Pure: the facts hold the time and everything else that is looked at. Each finding tells one
 * cause; the worst come first, otherwise in the order in which an agent meets them.
 */
import type { HostFacts } from "./facts.ts";
import type { Finding, FindingName, Severity } from "./finding.ts";
import { judgeDisk, judgePrograms, judgeResolver } from "./judge-files.ts";
import { judgeApi, judgeIdentity } from "./judge-identity.ts";
import { judgeCgroups, judgeKernel, judgeSwap } from "./judge-kernel.ts";
import { judgeConfiguration, judgeNode, judgePorts } from "./judge-node.ts";
import { judgeRuntime } from "./judge-runtime.ts";

const ORDER: readonly Severity[] = ["stops", "hurts", "note"];
/** What the host is held against its own configuration by: of one that is refused nothing is known, and the defaults are nobody's wish. */
const BY_CONFIGURATION: readonly FindingName[] = [
  "standalone",
  "node-address-unusable",
  "cgroup-driver-overridden",
  "cgroup-driver-unagreed",
];

export function diagnose(facts: HostFacts): readonly Finding[] {
  const found = [
    ...judgeConfiguration(facts),
    ...judgeNode(facts.node),
    ...judgePorts(facts.ports),
    ...judgeRuntime(facts.runtime, facts.network),
    ...judgeCgroups(facts),
    ...judgeSwap(facts.swap),
    ...judgeKernel(facts),
    ...judgeIdentity(facts),
    ...judgeApi(facts.api, facts.node.name),
    ...facts.disks.flatMap((disk) => [...judgeDisk(disk)]),
    ...judgeResolver(facts.resolver),
    ...judgePrograms(facts.programs),
  ];
  const isKnown = facts.configuration.refused === undefined;
  const told = found.filter(({ name }) => isKnown || !BY_CONFIGURATION.includes(name));
  return ORDER.flatMap((severity) => told.filter((each) => each.severity === severity));
}

/**
 * Diagnoses a host from observed facts. Pure: the facts contain the time and everything else that is inspected. Each
 * finding reports one cause. The most severe come first, otherwise in the order in which an agent would encounter them.
 */
import type { HostFacts } from "./facts.ts";
import type { Finding, FindingName, Severity } from "./finding.ts";
import { judgeDisk, judgePrograms, judgeResolver } from "./judge-files.ts";
import { judgeApi, judgeIdentity } from "./judge-identity.ts";
import { judgeCgroups, judgeKernel, judgeSwap } from "./judge-kernel.ts";
import { judgeConfiguration, judgeNode, judgePorts } from "./judge-node.ts";
import { judgeRuntime } from "./judge-runtime.ts";

const ORDER: readonly Severity[] = ["error", "warning", "note"];
/**
 * Findings that hold for any configuration. A refused configuration leaves the settings unknown, and nobody chose the
 * defaults.
 */
const IN_ANY_CASE: readonly FindingName[] = [
  "configuration-refused",
  "configuration-lenient",
  "not-root",
  "agent-running",
  "second-agent",
  "another-kubelet",
  "cgroup-missing",
  "cgroup-read-only",
  "cgroup-controller-missing",
  "cgroup-pids-missing",
  "cgroup-v1",
  "kernel-old",
  "ip-forward-off",
  "inotify-low",
  "pid-max-low",
  "clock-unset",
  "program-missing",
  "could-not-look",
];

export function diagnose(facts: HostFacts): readonly Finding[] {
  const isKnown = facts.configuration.refused === undefined;
  const asConfigured = (found: Iterable<Finding>) => (isKnown ? [...found] : []);
  const found = [
    ...judgeConfiguration(facts),
    ...asConfigured(judgeNode(facts.node)),
    ...judgePorts(facts.ports),
    ...asConfigured(judgeRuntime(facts.runtime, facts.network)),
    ...judgeCgroups(facts),
    ...asConfigured(judgeSwap(facts.swap)),
    ...judgeKernel(facts),
    ...judgeIdentity(facts),
    ...asConfigured(judgeApi(facts.api, facts.node.name)),
    ...facts.disks.flatMap((disk) => asConfigured(judgeDisk(disk))),
    ...asConfigured(judgeResolver(facts.resolver)),
    ...judgePrograms(facts.programs),
  ];
  const reported = found.filter(({ name }) => isKnown || IN_ANY_CASE.includes(name));
  return ORDER.flatMap((severity) => reported.filter((each) => each.severity === severity));
}

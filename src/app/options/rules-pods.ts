/** Rules for taints, topology, shutdown, swap and restarts, in the order in which the Go kubelet reports them. */

import { goQuote } from "../../base/go-text.ts";
import { labelKeyTroubles, labelValueTroubles } from "../../base/names.ts";
import { TAINT_EFFECTS } from "./names.ts";
import { invalid, named, type Rule, spellStruct, when } from "./rule.ts";
import { seconds, type Taint, toMs } from "./value-types.ts";

const TOPOLOGY_POLICIES: readonly string[] = ["none", "best-effort", "restricted", "single-numa-node"];

const isTaint = ({ key, value, effect }: Taint) =>
  labelKeyTroubles(key).length === 0 &&
  labelValueTroubles(value).length === 0 &&
  (effect === "" || TAINT_EFFECTS.includes(effect));

const taints: Rule = ({ config: { registerWithTaints = [] } }) =>
  registerWithTaints.flatMap((taint) => [
    ...(isTaint(taint)
      ? []
      : [`invalid taint: {${taint.key} ${taint.value} ${taint.effect} ${taint.timeAdded ?? "<nil>"}}`]),
    ...when(taint.timeAdded !== undefined, "taint.TimeAdded is not nil"),
  ]);

const topology: Rule = ({ config: { topologyManagerPolicy: policy, topologyManagerScope: scope } }) => [
  ...when(
    !TOPOLOGY_POLICIES.includes(policy),
    `${named("topologyManagerPolicy")} ${goQuote(policy)} must be one of: [${TOPOLOGY_POLICIES.map(goQuote).join(" ")}]`,
  ),
  ...when(
    scope !== "container" && scope !== "pod",
    `${named("topologyManagerScope")} ${goQuote(scope)} must be one of: "container", or "pod"`,
  ),
];

const zeroOrASecond = (what: string, periodNs: bigint) =>
  when(
    periodNs < 0n || (periodNs > 0n && periodNs < seconds(1)),
    `${what} ${spellStruct(periodNs)} must be either zero or otherwise >= 1 sec`,
  );

const shutdown: Rule = ({ config, gates }) => {
  const { shutdownGracePeriod: whole, shutdownGracePeriodCriticalPods: critical } = config;
  const byPriority = (config.shutdownGracePeriodByPodPriority ?? []).length > 0;
  const simple = whole > 0n || critical > 0n;
  return [
    ...(gates.GracefulNodeShutdown
      ? [
          ...when(
            critical > whole,
            `shutdownGracePeriodCriticalPods ${spellStruct(critical)} must be <= shutdownGracePeriod ${spellStruct(whole)}`,
          ),
          ...zeroOrASecond("shutdownGracePeriod", whole),
          ...zeroOrASecond("shutdownGracePeriodCriticalPods", critical),
        ]
      : when(
          simple,
          "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown",
        )),
    ...(gates.GracefulNodeShutdownBasedOnPodPriority
      ? when(
          byPriority && simple,
          "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time",
        )
      : when(
          byPriority,
          "Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority",
        )),
  ];
};

/** The gate NodeSwap is locked on, so its absence needs no rule. */
const swap: Rule = ({ config: { "memorySwap.swapBehavior": behavior } }) =>
  when(
    !["", "NoSwap", "LimitedSwap"].includes(behavior),
    `memorySwap.swapBehavior ${goQuote(behavior)} must be one of: "", "LimitedSwap" or "NoSwap"`,
  );

const restarts: Rule = ({ config: { "crashLoopBackOff.maxContainerRestartPeriod": most }, gates }) => {
  const what = "CrashLoopBackOff.MaxContainerRestartPeriod";
  if (!gates.KubeletCrashLoopBackOffMax) {
    return when(most !== undefined, `FeatureGate KubeletCrashLoopBackOffMax not enabled, ${what} must not be set`);
  }
  if (most === undefined) return [invalid(`FeatureGate KubeletCrashLoopBackOffMax is enabled, ${what} must be set`)];
  const mostMs = Math.trunc(toMs(most));
  return when(
    mostMs < 1000 || mostMs > 300_000,
    `${what} (got: ${toMs(most) / 1000} seconds) must be set between 1s and 300s`,
  );
};

export const POD_RULES: readonly Rule[] = [taints, topology, shutdown, swap, restarts];

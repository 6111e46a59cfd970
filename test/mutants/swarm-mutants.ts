/**
 * Mistakes in the production code of eviction and of the removal of images, one or more for each rule of the oracles
 * about them. The swarm must find each within fifty seeds.
 */
import type { Mutation } from "./mutant.ts";

export interface SwarmMutant extends Mutation {
  /** Text of the violation that the swarm must find. */
  readonly breaks: string;
  /** A seed that finds it soon. */
  readonly seed: number;
}

const EVICTION = "src/controllers/eviction";

export const SWARM_MUTANTS: readonly SwarmMutant[] = [
  {
    name: "evicts critical pods",
    breaks: "although it is critical",
    file: "src/domain/eviction/choose-victims.ts",
    find: "=> !isCriticalPod(pod);",
    replace: "=> pod.spec !== undefined;",
    seed: 2,
  },
  {
    name: "evicts at twice the threshold",
    breaks: "was evicted while the node had enough",
    file: "src/domain/eviction/thresholds.ts",
    find: "return observation !== undefined && isBelow(observation, quantityOf(threshold, observation));",
    replace:
      "return observation !== undefined && isBelow({ ...observation, available: observation.available / 2n }, quantityOf(threshold, observation));",
    seed: 27,
  },
  {
    name: "gives soft thresholds no grace period",
    breaks: "was evicted while the node had enough",
    file: "src/domain/eviction/thresholds.ts",
    find: ">= each.graceMs);",
    replace: ">= 0);",
    seed: 27,
  },
  {
    name: "does not wait for the end of an evicted pod",
    breaks: "was being evicted",
    file: `${EVICTION}/evicted-pods.ts`,
    find: "return waits || nowMs - this.#lastEndMonotonicMs < SETTLE_MS;",
    replace: "return !waits && nowMs < 0;",
    seed: 26,
  },
  {
    name: "evicts the pod that uses least",
    breaks: "was evicted for ",
    file: "src/domain/eviction/ranking.ts",
    find: "(a > b ? -1 : a < b ? 1 : 0);",
    replace: "(a > b ? 1 : a < b ? -1 : 0);",
    seed: 22,
  },
  {
    name: "evicts the pod with the highest priority",
    breaks: "was evicted for ",
    file: "src/domain/eviction/ranking.ts",
    find: "groupOf(a) - groupOf(b) || a.priority - b.priority",
    replace: "groupOf(a) - groupOf(b) || b.priority - a.priority",
    seed: 2,
  },
  {
    name: "evicts no pod for a threshold",
    breaks: "and nothing evicts",
    file: `${EVICTION}/eviction.ts`,
    find: "if (first !== undefined && !this.#isFirstSight()) await this.#evictForThreshold(",
    replace: "if (first === null) await this.#evictForThreshold(",
    seed: 26,
  },
  {
    name: "evicts a pod at half of its limit of local storage",
    breaks: "although it kept its limits",
    file: "src/domain/eviction/local-storage.ts",
    find: 'wholeQuantity(bytes, "BinarySI").nanos > limit.nanos',
    replace: 'wholeQuantity(2n * bytes, "BinarySI").nanos > limit.nanos',
    seed: 40,
  },
  {
    name: "forgets after a restart which pods it was evicting",
    breaks: ", which was evicted",
    file: "src/controllers/pod-workers/restore-from-journal.ts",
    find: "} else if (terminating !== undefined) {",
    replace: '} else if (terminating !== undefined && !terminating.why.startsWith("failed Evicted")) {',
    seed: 15,
  },
  {
    name: "reports an evicted pod without the resource that was short",
    breaks: "with another message than its status has",
    file: "src/domain/pod-status/pod-status.ts",
    find: 'const verdict = ended && lifecycle.why.kind === "failed" ? lifecycle.why : undefined;',
    replace:
      'const verdict = ended && lifecycle.why.kind === "failed" ? { ...lifecycle.why, message: "The node was low on a resource." } : undefined;',
    seed: 26,
  },
  {
    name: "ends a pressure condition although the shortage lasts",
    breaks: "ended while the node was short",
    file: "src/domain/node/pressure.ts",
    find: "{ ...previous.lastSeenMs, ...seen }",
    replace: "{ ...seen, ...previous.lastSeenMs }",
    seed: 37,
  },
  {
    name: "removes images that are in use",
    breaks: " uses it",
    file: "src/domain/images/image-gc.ts",
    find: 'if (by !== undefined) return { kind: "used", by };',
    replace: 'if (by === "") return { kind: "used", by };',
    seed: 2,
  },
  {
    name: "removes images that the runtime pins",
    breaks: "although the runtime pins it",
    file: "src/domain/images/image-gc.ts",
    find: 'if (image.pinned) return { kind: "pinned" };',
    replace: "",
    seed: 2,
  },
  {
    name: "removes images that a rule keeps",
    breaks: "although a rule keeps it",
    file: "src/domain/images/image-gc.ts",
    find: 'if (glob !== undefined) return { kind: "rule", glob };',
    replace: "",
    seed: 2,
  },
];

/** Builds the sequence of one pod, for suites that run their cases on `BothAgents`. */
import assert from "node:assert/strict";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { type PodSequence, sequenceOf } from "../golden/sequence.ts";
import type { Side } from "../golden/sides.ts";
import type { BothAgents } from "./both-agents.ts";
import { neutralStatus, neutralText, reportedByBoth } from "./normal-form.ts";

export interface SequenceOptions {
  /** The last version to include; unless given, all versions until the pod was deleted. */
  readonly last?: Pod;
  readonly statusOf?: (pod: Pod) => unknown;
  /**
   * Normalizes texts further. `isByChance` gets the normalized text of an event and returns whether the event occurs
   * only by chance.
   */
  readonly neutral?: (text: string) => string;
  readonly isByChance?: (event: string) => boolean;
}

/** The sequence starts with the pod's creation. */
export async function podSequence(
  both: BothAgents,
  name: string,
  side: Side,
  { last, statusOf = neutralStatus, neutral = (text) => text, isByChance = () => false }: SequenceOptions = {},
): Promise<PodSequence> {
  const all = both.pods.versions(name).filter(({ kind }) => kind !== "deleted");
  const isLast = ({ pod }: { readonly pod: Pod }) => pod.metadata?.resourceVersion === last?.metadata?.resourceVersion;
  const versions = last === undefined ? all : all.slice(0, all.findIndex(isLast) + 1);
  const pod = versions.at(-1)?.pod ?? assert.fail(`${name} was published`);
  const untilMs = last === undefined ? Number.POSITIVE_INFINITY : (versions.at(-1)?.seenWallMs ?? 0);
  const events = reportedByBoth(await both.pods.eventsOf(name));
  const textOf = (text: string) => neutral(neutralText(text, pod));
  return sequenceOf({
    pod,
    isWhole: last === undefined,
    versions: versions.map((version) => version.pod),
    events: events.filter(({ reason, message }) => !isByChance(textOf(`${reason} ${message}`))),
    calls: both.proxy(side).calls.filter(({ startedWallMs }) => startedWallMs <= untilMs),
    side,
    neutralStatus: statusOf,
    neutralText: textOf,
  });
}

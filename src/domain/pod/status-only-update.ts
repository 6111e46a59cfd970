/**
 * Whether two versions of a pod from the API server differ only in the status that its node publishes. A change to or
 * from a terminal phase counts as another difference.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { isTerminal } from "../pod-status/phase.ts";

/** The API server increments a pod's generation with every change of its spec and when it is marked for deletion. */
export const isStatusOnlyUpdate = (before: Pod, now: Pod): boolean =>
  before.metadata?.generation !== undefined &&
  before.metadata.generation === now.metadata?.generation &&
  before.metadata.deletionTimestamp === now.metadata?.deletionTimestamp &&
  before.metadata.deletionGracePeriodSeconds === now.metadata?.deletionGracePeriodSeconds &&
  isTerminal(before.status?.phase) === isTerminal(now.status?.phase);

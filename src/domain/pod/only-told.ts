/** Whether two versions of a pod of the API server differ only in what its node tells of it. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { isTerminal } from "../pod-status/phase.ts";

/** The server counts a pod's generation up with every change of its spec, and with the mark of its deletion. */
export const isOnlyTold = (before: Pod, now: Pod): boolean =>
  before.metadata?.generation !== undefined &&
  before.metadata.generation === now.metadata?.generation &&
  before.metadata.deletionTimestamp === now.metadata?.deletionTimestamp &&
  before.metadata.deletionGracePeriodSeconds === now.metadata?.deletionGracePeriodSeconds &&
  isTerminal(before.status?.phase) === isTerminal(now.status?.phase);

/**
 * The loops that the node depends on, and how long each may be silent while it is healthy: its interval, its longest
 * iteration, and slack for a busy machine. They are watched from composition on, so that one that never starts is
 * detected too. Loops that only respond to events, work per pod or clean up may take any time and are not watched.
 */
import type { Heartbeat, LoopHeartbeats } from "../concurrency/loop-heartbeats.ts";
import { renewEveryMs } from "../domain/node/lease.ts";
import { nextLookMs } from "../domain/node/report-decision.ts";
import { silenceMsMax } from "../server/healthz.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";

/** The name by which the health check finds this loop. */
export const SYNC_LOOP = "sync loop";

/** The longest pause of a loop whose interval is not configurable. */
const OWN_PACE_MS = 60_000;
const SLACK_MS = 300_000;

export interface ApiHeartbeats {
  readonly nodeStatus: Heartbeat;
  readonly lease: Heartbeat;
}

export interface WatchedLoops {
  readonly syncLoop: Heartbeat;
  readonly runtimeHealth: Heartbeat;
  readonly runtimeList: Heartbeat;
  readonly imageList: Heartbeat;
  readonly nodeUsage: Heartbeat;
  readonly nodeGroups: Heartbeat;
  /** Undefined: a node without an API server. */
  readonly api: ApiHeartbeats | undefined;
}

export function watchLoops(heartbeats: LoopHeartbeats, options: CompiledOptions, hasApi: boolean): WatchedLoops {
  const { requestLimitMs } = options.runtime;
  const within = (loop: string, paceMs: number, turnMs: number) => heartbeats.expect(loop, paceMs + turnMs + SLACK_MS);
  return {
    syncLoop: heartbeats.expect(SYNC_LOOP, silenceMsMax(options.pods.syncEveryMs)),
    // Two sequential calls: a list may be requested in two ways.
    runtimeHealth: within("runtime health", OWN_PACE_MS, 2 * requestLimitMs),
    runtimeList: within("runtime list", OWN_PACE_MS, 2 * requestLimitMs),
    imageList: within("image list", OWN_PACE_MS, 2 * requestLimitMs),
    nodeUsage: within("node usage", OWN_PACE_MS, requestLimitMs),
    nodeGroups: within("node cgroups", OWN_PACE_MS, 0),
    api: hasApi ? apiHeartbeats(within, options) : undefined,
  };
}

function apiHeartbeats(
  within: (loop: string, paceMs: number, turnMs: number) => Heartbeat,
  { api, node: { name: nodeName, leaseDurationSeconds, statusEveryMs } }: CompiledOptions,
): ApiHeartbeats {
  const limitMs = api.kind === "cluster" ? api.heartbeatLimitMs : 0;
  return {
    nodeStatus: within("node status", nextLookMs(statusEveryMs, 1), limitMs),
    // A lease that is not known is read before it is written.
    lease: within("lease", renewEveryMs({ nodeName, leaseDurationSeconds }, 1), 2 * limitMs),
  };
}

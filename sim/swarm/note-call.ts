/** Notes which of the hard-to-reach states a call shows to be reached. */

import type { Pod } from "../../src/api/gen/core-v1.ts";
import { pods } from "../../src/api/resources.ts";
import { kindOf } from "../fake-api-server/kinds.ts";
import type { Stored } from "../fake-api-server/stored.ts";
import type { PortCall } from "../port-calls.ts";
import { resizePending } from "../resize-oracle.ts";
import type { Stage } from "../scenarios/scenario.ts";
import { type Coverage, phaseOf } from "./coverage.ts";

const UID = /\/pods\/(?<uid>[^/]+)\//;
/** A token request this long after the start of an agent's life is a renewal. */
const RENEWAL_MS = 5 * 60_000;

export function noteCall(call: PortCall, { world, node }: Stage, coverage: Coverage): void {
  const phase = phaseOf(call);
  if (phase === undefined) return;
  const uid = UID.exec(call.target)?.groups?.["uid"] ?? "";
  switch (phase) {
    case "requesting a token":
      if (world.clock.monotonicMs() - node.startedMonotonicMs > RENEWAL_MS) coverage.note("a token was renewed");
      return;
    case "switching to a set of files":
      if (runs(node, uid)) coverage.note("files changed under a running container");
      return;
    case "writing a set of files":
      if (node.files.disk.freeBytes === 0) coverage.note("a disk was full while a volume was written");
      return;
    case "unmounting":
      if (node.mounts.busy.has(call.target)) coverage.note("a mount was busy after its pod had ended");
      if (podOf(world, uid) === undefined) coverage.note("volumes of an unknown pod were found and torn down");
      return;
    default:
  }
}

/** Notes whether an agent died while volumes were torn down, a hook ran, or a resize was in progress or waiting. */
export function noteDeath({ world, node, oracle }: Stage, coverage: Coverage): void {
  if (oracle.lifecycle.hooksUnderWay) coverage.note("the agent was killed while a hook ran");
  if (oracle.resizes.isUnderWay) coverage.note("the agent was killed during a resize");
  for (const stored of world.api.store.values(kindOf(pods)))
    if (resizePending(stored as unknown as Pod) !== undefined)
      coverage.note("the agent was killed while a resize was deferred");
  for (const uid of node.files.disk.directory("/var/lib/kubelet/pods")?.entries.keys() ?? []) {
    if (runs(node, uid) || oracle.volumes.remainsOf(uid).length === 0) continue;
    const pod = podOf(world, uid);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined)
      coverage.note("the agent was killed while volumes were torn down");
  }
}

const runs = (node: Stage["node"], uid: string): boolean =>
  [...node.runtime.containers.values()].some(
    ({ config, process }) =>
      config.labels?.["io.kubernetes.pod.uid"] === uid && process !== undefined && process.end === undefined,
  );

function podOf(world: Stage["world"], uid: string): Stored | undefined {
  for (const stored of world.api.store.values(kindOf(pods))) if (stored.metadata.uid === uid) return stored;
  return undefined;
}

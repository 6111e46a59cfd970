/** Reads a node's own writes from the API server's audit log. */
import { readFile } from "node:fs/promises";
import type { Pod, PodCondition } from "../../src/api/gen/core-v1.ts";
import type { Cluster } from "../cluster/cluster.ts";

export interface AuditEntry {
  readonly auditID: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string };
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
  };
  readonly requestObject?: unknown;
  readonly responseStatus?: { readonly code?: number };
}

/** Returns a user's entries in the order in which the server wrote them. Skips a line that is still being written. */
export async function auditOf(cluster: Cluster, user: string): Promise<readonly AuditEntry[]> {
  const lines = (await readFile(cluster.api.auditLog, "utf8")).split("\n").slice(0, -1);
  // Parsing takes most of the time, and most lines belong to other users.
  return lines
    .filter((line) => line.includes(`"username":"${user}"`))
    .map((line) => JSON.parse(line) as AuditEntry)
    .filter((entry) => entry.user.username === user);
}

const succeeded = ({ responseStatus }: AuditEntry) => (responseStatus?.code ?? 0) < 300;

const readyOf = (body: unknown): PodCondition | undefined =>
  ((body as Pod | undefined)?.status?.conditions ?? []).find(({ type }) => type === "Ready");

/**
 * Finds each write by the node that changed Ready from True to another status, for pods and for the node itself.
 * `endedMs`: the time from which a pod may be unready.
 */
export function readyFlips(
  entries: readonly AuditEntry[],
  endedMs: (pod: string) => number | undefined,
): readonly string[] {
  const ready = new Map<string, string>();
  const flips: string[] = [];
  for (const entry of entries) {
    const { objectRef, requestObject, verb, requestReceivedTimestamp } = entry;
    if (verb !== "patch" || !succeeded(entry) || objectRef?.subresource !== "status") continue;
    const status = readyOf(requestObject)?.status;
    if (status === undefined) continue;
    const key = `${objectRef.resource} ${objectRef.namespace ?? ""}/${objectRef.name}`;
    const flipped = ready.get(key) === "True" && status !== "True";
    const endMs = endedMs(objectRef.name ?? "");
    if (flipped && !(endMs !== undefined && Date.parse(requestReceivedTimestamp) >= endMs - 1)) {
      flips.push(`${requestReceivedTimestamp} ${key}: ${JSON.stringify(readyOf(requestObject))}`);
    }
    ready.set(key, status);
  }
  return flips;
}

/** The node's deletions of pods, with time and UID. */
export function podDeletions(
  entries: readonly AuditEntry[],
): readonly { readonly atMs: number; readonly uid: string; readonly name: string }[] {
  return entries
    .filter((entry) => entry.verb === "delete" && entry.objectRef?.resource === "pods" && succeeded(entry))
    .map(({ requestObject, requestReceivedTimestamp, objectRef }) => ({
      atMs: Date.parse(requestReceivedTimestamp),
      uid: (requestObject as { preconditions?: { uid?: string } } | undefined)?.preconditions?.uid ?? "",
      name: objectRef?.name ?? "",
    }));
}

/** Ids of all containers that the node ever reported as running. */
export function reportedRunning(entries: readonly AuditEntry[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { requestObject } of entries) {
    for (const { containerID, state } of (requestObject as Pod | undefined)?.status?.containerStatuses ?? []) {
      if (state?.running !== undefined && containerID !== undefined) ids.add(containerID.replace(/^.*:\/\//, ""));
    }
  }
  return ids;
}

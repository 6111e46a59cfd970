/** Reads one user's requests from the API server's audit log. */
import { readFile } from "node:fs/promises";
import type { Cluster } from "../cluster/cluster.ts";

export interface Audited {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly uri: string;
  readonly code: number;
  readonly requestObject: unknown;
  /** When the server had received the request, and when it had answered. */
  readonly receivedMs: number;
  readonly answeredMs: number;
}

interface Line {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestObject?: unknown;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly stage: string;
}

/**
 * Returns each request once, from its ResponseComplete entry; a watch from its ResponseStarted entry. Sorted by time of
 * receipt.
 */
export async function requestsBy(cluster: Cluster, user: string): Promise<readonly Audited[]> {
  const lines = (await readFile(cluster.api.auditLog, "utf8")).split("\n").filter((line) => line.includes(user));
  return lines
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line.user.username === user)
    .filter(({ stage, verb }) => stage === (verb === "watch" ? "ResponseStarted" : "ResponseComplete"))
    .map((line) => ({
      verb: line.verb,
      resource: line.objectRef?.resource ?? "",
      subresource: line.objectRef?.subresource ?? "",
      name: line.objectRef?.name ?? "",
      uri: line.requestURI,
      code: line.responseStatus?.code ?? 0,
      requestObject: line.requestObject,
      receivedMs: Date.parse(line.requestReceivedTimestamp),
      answeredMs: Date.parse(line.stageTimestamp),
    }))
    .toSorted((a, b) => a.receivedMs - b.receivedMs);
}

export const nodeUser = (node: string) => `system:node:${node}`;

/** Reads from the API server's audit log which requests pods cost. */
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pause } from "../test/cluster/wait.ts";
import type { World } from "./world.ts";

export interface Request {
  readonly pod: string;
  readonly verb: string;
  readonly what: string;
  /** Set only for an event. */
  readonly reason: string | undefined;
  readonly bodyBytes: number;
}

interface AuditLine {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly name?: string };
  readonly requestObject?: {
    readonly reason?: string;
    readonly involvedObject?: { readonly name?: string };
    readonly regarding?: { readonly name?: string };
  };
}

/** The API server writes the log shortly after the response. */
const LAG_MS = 500;

/** Returns all requests of the node for these pods, in the order of their responses. */
export async function requestsFor({ cluster, node }: World, names: readonly string[]): Promise<readonly Request[]> {
  await pause(LAG_MS);
  const wanted = new Set(names);
  const found: Request[] = [];
  for (const line of await linesWith(cluster.api.auditLog, commonStart(names))) {
    const { verb, user, objectRef, requestObject } = JSON.parse(line) as AuditLine;
    if (user.username !== `system:node:${node.name}` || objectRef === undefined) continue;
    const { resource, subresource = "" } = objectRef;
    const subject = requestObject?.regarding?.name ?? requestObject?.involvedObject?.name;
    const pod = resource === "events" ? (subject ?? objectRef.name?.split(".")[0]) : objectRef.name;
    if (pod === undefined || !wanted.has(pod)) continue;
    const what = subresource === "" ? resource : `${resource}/${subresource}`;
    const reason = resource === "events" ? requestObject?.reason : undefined;
    const bodyBytes = requestObject === undefined ? 0 : JSON.stringify(requestObject).length;
    found.push({ pod, verb, what, reason, bodyBytes });
  }
  return found;
}

/** The API server starts a new file when the current one is full. */
async function linesWith(log: string, part: string): Promise<readonly string[]> {
  const start = basename(log, ".log");
  const files = (await readdir(dirname(log))).filter((file) => file.startsWith(start) && file.endsWith(".log"));
  const lines: string[] = [];
  // Rotated files have a date in their name and sort before the plain name, which is the newest file.
  for (const file of files.sort()) {
    const text = await readFile(join(dirname(log), file), "utf8");
    lines.push(...text.split("\n").filter((line) => line.includes(part)));
  }
  return lines;
}

function commonStart(names: readonly string[]): string {
  const [first = "", ...others] = names;
  let length = first.length;
  for (const name of others) while (!name.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}

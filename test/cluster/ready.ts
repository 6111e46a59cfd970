/** Checks from outside whether a program of the cluster is ready. */
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { connectCri } from "../../src/wire/cri/client.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { pki } from "./certificates.ts";
import type { ClusterLayout } from "./layout.ts";
import { isAlive } from "./processes.ts";
import type { ComponentRecord } from "./record.ts";
import { waitUntil } from "./wait.ts";

const READY_MS_MAX = 60_000;
/** Longer, because a request to the API server or the runtime costs both sides a connection. */
export const ASK_EVERY_MS = 250;
const LOOK_EVERY_MS = 50;

/** Fails early, with the end of the program's log, when the program exits before it is ready. */
export async function waitReady(
  layout: ClusterLayout,
  component: ComponentRecord,
  signal?: AbortSignal,
): Promise<void> {
  let ended = false;
  try {
    const isDone = async () => {
      ended = !(await isAlive(component));
      return ended || signal?.aborted === true || (await isReady(layout, component));
    };
    const { kind } = component.ready;
    const everyMs = kind === "apiServer" || kind === "cri" ? ASK_EVERY_MS : LOOK_EVERY_MS;
    await waitUntil(`${component.name} to be ready`, READY_MS_MAX, isDone, everyMs);
  } catch (error) {
    throw new Error(`${component.name} is not ready\n${await logTail(component)}`, { cause: error });
  }
  signal?.throwIfAborted();
  if (ended) throw new Error(`${component.name} ended before it was ready\n${await logTail(component)}`);
}

async function isReady(layout: ClusterLayout, { pid, ready }: ComponentRecord): Promise<boolean> {
  switch (ready.kind) {
    case "listens":
      return listens(pid, ready.port);
    case "cri":
      return runtimeAndNetworkReady(ready.endpoint);
    case "apiServer":
      return (await apiStatus(layout, "/readyz")) === 200;
    case "became":
      return (await readFile(`/proc/${pid}/comm`, "utf8")).trim() === ready.program;
  }
}

const LISTEN_STATE = "0A";

/** Reads the kernel's socket table through the process itself, so its network namespace may differ from ours. */
async function listens(pid: number, port: number): Promise<boolean> {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  for (const table of ["tcp", "tcp6"]) {
    const lines = (await readFile(`/proc/${pid}/net/${table}`, "utf8").catch(() => "")).split("\n").slice(1);
    for (const line of lines) {
      const fields = line.trim().split(/\s+/);
      if (fields[3] === LISTEN_STATE && fields[1]?.endsWith(`:${hex}`) === true) return true;
    }
  }
  return false;
}

async function runtimeAndNetworkReady(endpoint: string): Promise<boolean> {
  const ignore = () => {}; // A malformed response counts as not ready.
  const client = connectCri({ endpoint, requestLimitMs: 2_000, onMalformed: ignore }, hostClock);
  try {
    const { conditions } = await client.runtime.status({ verbose: false }, new AbortController().signal);
    const ready = conditions.filter(({ status }) => status).map(({ type }) => type);
    return ready.includes("RuntimeReady") && ready.includes("NetworkReady");
  } finally {
    client.close();
  }
}

/** Returns the status of a GET as administrator. Rejects when there is no response. */
export async function apiStatus(layout: ClusterLayout, path: string): Promise<number> {
  const [ca, cert, key] = await Promise.all(
    ["ca.crt", "admin.crt", "admin.key"].map((file) => readFile(pki(layout, file))),
  );
  return new Promise((resolve, reject) => {
    const options = { ca, cert, key, timeout: 2_000, agent: false } as const;
    const call = request(`${layout.apiUrl}${path}`, options as object, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
    });
    call.once("timeout", () => call.destroy(new Error("no answer")));
    call.once("error", reject);
    call.end();
  });
}

async function logTail({ logFile }: ComponentRecord): Promise<string> {
  const log = await readFile(logFile, "utf8").catch(() => "");
  return log.split("\n").slice(-25).join("\n");
}

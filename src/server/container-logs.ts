/**
 * GET /containerLogs/{namespace}/{pod}/{container}, which `kubectl logs` uses. Errors are detected before the response
 * begins where possible. Later errors are written into the response body, as in the Go kubelet.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { ContainerStatus, Pod } from "../api/gen/core-v1.ts";
import { goQuote } from "../base/go-text.ts";
import type { ReadonlyTable } from "../concurrency/latest-table.ts";
import { LogFormatter } from "../domain/logs/log-formatter.ts";
import {
  type LogOptions,
  type LogRefusal,
  logView,
  parseLogOptions,
  wantedStreams,
} from "../domain/logs/log-options.ts";
import { logSource, runtimeId } from "../domain/logs/log-source.ts";
import { allContainers } from "../domain/pod/containers.ts";
import type { PodRuntimeView } from "../domain/pod/runtime-view.ts";
import type { Clock } from "../ports/clock.ts";
import type { HostFiles } from "../ports/host-files.ts";
import type { Log } from "../ports/log.ts";
import type { LogFiles } from "../ports/log-files.ts";
import type { Runtime } from "../ports/runtime.ts";
import { RuntimeError } from "../ports/runtime-error.ts";
import { type FollowedContainer, readLog } from "./read-log.ts";
import { HttpError, type Route, type RouteRequest } from "./route.ts";

export interface ContainerLogsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly logFiles: Pick<LogFiles, "open" | "openCompressed" | "identityAt">;
  readonly files: Pick<HostFiles, "list" | "watch">;
  readonly runtime: Pick<Runtime, "containerStatus">;
  /** The pod as this node currently knows it; of two pods with the same name, the one that is not terminating. */
  readonly podNamed: (namespace: string, name: string) => Pod | undefined;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
  /** Whether clients may request stdout or stderr alone. */
  readonly splitStreams: boolean;
}

export const containerLogs = (options: ContainerLogsOptions): Route => ({
  path: "/containerLogs/{namespace}/{pod}/{container}",
  methods: ["GET"],
  subresources: ["proxy"],
  switch: "debugging",
  readOnlyPort: false,
  longRunning: true,
  answer: (asked, response) => answer(options, asked, response),
});

async function answer(options: ContainerLogsOptions, asked: RouteRequest, response: ServerResponse): Promise<void> {
  const { namespace = "", pod: podName = "", container = "" } = asked.parts;
  const wanted = accepted(parseLogOptions((name) => asked.query.get(name) ?? undefined));
  const pod = options.podNamed(namespace, podName);
  if (pod === undefined) throw new HttpError(404, `pod ${goQuote(podName)} does not exist`);
  if (!allContainers(pod.spec).some(({ name }) => name === container)) {
    throw new HttpError(404, `container ${goQuote(container)} not found in pod ${goQuote(podName)}`);
  }
  const streams = accepted(wantedStreams(wanted.stream, options.splitStreams));
  const source = logSource(statusOf(pod, container), { pod: podName, container, previous: wanted.previous });
  if (source.kind === "none") throw new HttpError(400, source.why);
  response.flushHeaders();
  const formatter = new LogFormatter(logView(wanted, streams, options.clock.wallMs()));
  const trouble = await sendLog(
    { uid: pod.metadata?.uid ?? "", id: source.id, wanted, formatter },
    options,
    asked,
    response,
  );
  if (formatter.linesLeftOut > 0) {
    const fields = { pod: podName, container, lines: formatter.linesLeftOut };
    options.log.info(2, "Skipped unreadable lines of a container log", fields);
  }
  if (!asked.signal.aborted) response.end(trouble ?? "");
}

function accepted<T>(
  parsed: { readonly kind: "is"; readonly value: T } | { readonly kind: "refused"; readonly refusal: LogRefusal },
): T {
  if (parsed.kind === "is") return parsed.value;
  throw new HttpError(parsed.refusal.status, parsed.refusal.text);
}

const statusOf = ({ status }: Pod, container: string): ContainerStatus | undefined =>
  [status?.containerStatuses, status?.initContainerStatuses, status?.ephemeralContainerStatuses]
    .flatMap((statuses) => statuses ?? [])
    .find(({ name }) => name === container);

interface Sending {
  readonly uid: string;
  readonly id: string;
  readonly wanted: LogOptions;
  readonly formatter: LogFormatter;
}

/** Returns an error that occurred after the response had begun. */
async function sendLog(
  { uid, id, wanted, formatter }: Sending,
  options: ContainerLogsOptions,
  { signal }: RouteRequest,
  response: ServerResponse,
): Promise<string | undefined> {
  try {
    const { status } = await options.runtime.containerStatus(runtimeId(id), { verbose: false }, signal);
    const follow = wanted.follow ? followed(uid, status.id, options) : undefined;
    const write = (bytes: Uint8Array) => written(response, bytes, signal);
    const { tailLines } = wanted;
    return await readLog({ ...options, path: status.logPath, tailLines, follow, formatter, write }, signal);
  } catch (error) {
    if (signal.aborted) return undefined; // The client has disconnected.
    if (!(error instanceof RuntimeError)) throw error;
    options.log.info(4, "The runtime does not know a container whose log was requested", { id, err: error.message });
    return `unable to retrieve container logs for ${id}`;
  }
}

/** One chunk is in flight at a time: a slow client delays only its own log. */
async function written(response: ServerResponse, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (response.destroyed) throw new Error("the client is gone");
  if (!response.write(bytes)) await once(response, "drain", { signal });
}

/** Uses the observed runtime status; queries the runtime only for a container that is not in it. */
const followed = (
  uid: string,
  id: string,
  { podRuntimeStatus, runtime }: Pick<ContainerLogsOptions, "podRuntimeStatus" | "runtime">,
): FollowedContainer => ({
  async isRunning(signal) {
    const seen = podRuntimeStatus.get(uid)?.containers.find((container) => container.id === id);
    if (seen !== undefined) return seen.state === "running";
    try {
      return (await runtime.containerStatus(id, { verbose: false }, signal)).status.state === "running";
    } catch (error) {
      // Containers keep running while the runtime is down: only "notFound" from the runtime ends a follow.
      return !(error instanceof RuntimeError && error.code === "notFound");
    }
  },
  watch: (changed) =>
    podRuntimeStatus.watch((key) => {
      if (key === uid) changed();
    }),
});

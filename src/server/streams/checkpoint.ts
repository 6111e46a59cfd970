/**
 * /checkpoint: has the runtime write a container's complete state to a file for later analysis. Such files are as large
 * as the container's memory, and nothing removes them. So unlike the Go kubelet, only one is created at a time, and
 * none once their number or total size has reached its limit.
 */

import { errorText } from "../../base/error-text.ts";
import { fullNameOf } from "../../domain/pod/pod-identity.ts";
import type { Clock } from "../../ports/clock.ts";
import { type HostFiles, listIfThere } from "../../ports/host-files.ts";
import type { RuntimeContainers } from "../../ports/runtime.ts";
import { CONTAINER_CHECKPOINTS_BYTES_MAX, CONTAINER_CHECKPOINTS_MAX } from "../limits.ts";
import { HttpError, type Route, type RouteRequest } from "../route.ts";
import { containerSpec, findPod, type KnownPods, podParts, runningContainer } from "./find-container.ts";
import { runtimeErrorText } from "./runtime-http-error.ts";

const SECONDS = /^[+-]?\d{1,19}$/;

export interface CheckpointParts {
  readonly known: KnownPods;
  readonly runtime: Pick<RuntimeContainers, "checkpoint">;
  readonly files: Pick<HostFiles, "list" | "facts">;
  readonly clock: Pick<Clock, "wallMs">;
  readonly directory: string;
  /** The minimum timeout of a checkpoint, whatever the request says. */
  readonly requestLimitMs: number;
}

export function checkpointRoute(parts: CheckpointParts): Route {
  let busy = false;
  return {
    path: "/checkpoint/{namespace}/{pod}/{container}",
    methods: ["POST"],
    subresources: ["checkpoint"],
    switch: "debugging",
    readOnlyPort: false,
    longRunning: true,
    answer: async (asked, response) => {
      const wanted = find(parts, asked);
      if (busy) throw new HttpError(429, "another checkpoint is being made");
      busy = true;
      try {
        const location = await make(parts, wanted, asked.signal);
        response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ items: [location] }));
      } catch (error) {
        const { namespace, pod, container } = wanted;
        throw new HttpError(
          500,
          `checkpointing of ${namespace}/${pod}/${container} failed (${runtimeErrorText(error) ?? errorText(error)})`,
        );
      } finally {
        busy = false;
      }
    },
  };
}

type Wanted = ReturnType<typeof find>;

function find({ known, requestLimitMs }: CheckpointParts, { parts, query }: RouteRequest) {
  const names = podParts(parts);
  const found = findPod(known, names);
  if (containerSpec(found.pod, names.container) === undefined) {
    throw new HttpError(404, `container ${names.container} does not exist`);
  }
  const asked = query.getAll("timeout").at(-1) ?? "0";
  if (!SECONDS.test(asked)) throw new HttpError(404, "cannot parse value of timeout parameter");
  const seconds = Number(asked);
  return {
    ...names,
    fullName: fullNameOf(found.pod),
    id: runningContainer(known, found, names),
    seconds: seconds < 0 ? seconds : Math.max(seconds, Math.floor(requestLimitMs / 1_000)),
  };
}

async function make(parts: CheckpointParts, wanted: Wanted, signal: AbortSignal): Promise<string> {
  if (wanted.id === undefined) throw new Error(`container ${wanted.container} not found`);
  if (wanted.seconds < 0) throw new Error("CheckpointContainer requires the timeout value to be > 0");
  await refuseFull(parts);
  const at = new Date(parts.clock.wallMs()).toISOString().replace(/\.\d+Z$/, "Z");
  const location = `${parts.directory}/checkpoint-${wanted.fullName}-${wanted.container}-${at}.tar`;
  await parts.runtime.checkpoint(wanted.id, location, wanted.seconds, signal);
  return location;
}

async function refuseFull({ files, directory }: CheckpointParts): Promise<void> {
  const names = await listIfThere(files, directory);
  if (names.length >= CONTAINER_CHECKPOINTS_MAX)
    throw new Error(`${directory} holds ${names.length} files, no more are made`);
  let bytes = 0;
  for (const name of names) bytes += (await files.facts(`${directory}/${name}`))?.sizeBytes ?? 0;
  if (bytes >= CONTAINER_CHECKPOINTS_BYTES_MAX) throw new Error(`${directory} holds ${bytes} bytes, no more are made`);
}

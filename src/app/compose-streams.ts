/** Routes for exec, attach, port-forward, run and checkpoints, built from the kubelet's cells, ports and options. */
import type { StreamMetrics } from "../domain/metrics/stream-metrics.ts";
import type { Route } from "../server/route.ts";
import { streamingRoutes } from "../server/streams/routes.ts";
import { StreamSessions } from "../server/streams/sessions.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import type { Cells, KubeletPorts } from "./wiring.ts";

/** Tools that collect checkpoints expect them in this directory. */
export const checkpointDirectory = ({ directories }: Pick<CompiledOptions, "directories">): string =>
  `${directories.root}/checkpoints`;

export function streaming(
  ports: KubeletPorts,
  options: CompiledOptions,
  cells: Cells,
  metrics: StreamMetrics,
): readonly Route[] {
  const { clock, runtime, files } = ports;
  const { gates } = options;
  const sessions = new StreamSessions(clock, ports.logOf("streams"), options.server.streamIdleMs, metrics);
  const directory = checkpointDirectory(options);
  const { requestLimitMs } = options.runtime;
  const checkpoints = { known: cells, runtime, files, clock, directory, requestLimitMs };
  const parts = { known: cells, runtime, clock, sessions, webSockets: gates.ExtendWebSocketsToKubelet };
  return streamingRoutes(parts, gates.ContainerCheckpoint ? checkpoints : undefined);
}

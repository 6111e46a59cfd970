/** All streaming routes. */
import type { Route } from "../route.ts";
import { attachRoutes } from "./attach.ts";
import { type CheckpointParts, checkpointRoute } from "./checkpoint.ts";
import { execRoutes } from "./exec.ts";
import { portForwardRoutes } from "./port-forward.ts";
import { runRoutes } from "./run.ts";
import type { StreamParts } from "./stream-parts.ts";

/** If `checkpoints` is undefined, there is no /checkpoint path. */
export const streamingRoutes = (parts: StreamParts, checkpoints: CheckpointParts | undefined): readonly Route[] => [
  ...execRoutes(parts),
  ...attachRoutes(parts),
  ...portForwardRoutes(parts),
  ...runRoutes(parts),
  ...(checkpoints === undefined ? [] : [checkpointRoute(checkpoints)]),
];

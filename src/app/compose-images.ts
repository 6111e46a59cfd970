/** Wires the removal of unused images, and the plan that the local socket serves. */
import type { ImageGcOptions } from "../controllers/images/image-gc.ts";
import { reportImageGc } from "../controllers/images/image-gc-plan.ts";
import type { ImageGcReading } from "../controllers/images/image-gc-state.ts";
import type { LocalRoute } from "../server/local-socket.ts";
import { GC_PLAN } from "./commands/gc.ts";
import type { Wiring } from "./wiring.ts";

const imageGcReading = ({ ports, cells }: Pick<Wiring, "ports" | "cells">): ImageGcReading => ({
  images: ports.images,
  runtime: ports.runtime,
  machine: ports.machine,
  clock: ports.clock,
  admittedPods: cells.admittedPods,
  podOutcomes: cells.podOutcomes,
  podRuntimeStatus: cells.podRuntimeStatus,
  unreachableRegistries: cells.unreachableRegistries,
  imageRecords: cells.imageRecords,
});

export const imageGcOptions = (wiring: Wiring): ImageGcOptions => ({
  ...imageGcReading(wiring),
  images: wiring.ports.images,
  tracer: wiring.ports.tracer,
  log: wiring.ports.logOf("images"),
  events: wiring.events,
  nodeName: wiring.options.node.name,
  policy: wiring.options.images.gc,
  imageMetrics: wiring.metrics.images,
  sourcesReady: wiring.cells.sourcesReady,
  reclaimRequests: wiring.cells.reclaimRequests,
  imagesReclaimed: wiring.cells.imagesReclaimed,
  imageRecords: wiring.cells.imageRecords,
});

/**
 * What the next run would do, from the same inputs and by the same plan. It uses the uncounted ports: a command of the
 * operator changes no metrics.
 */
export const imageGcRoute = ({ ports, options, cells }: Pick<Wiring, "ports" | "options" | "cells">): LocalRoute => ({
  path: GC_PLAN,
  answer: (_query, signal) =>
    reportImageGc(
      { ...imageGcReading({ ports, cells }), sourcesReady: cells.sourcesReady, policy: options.images.gc },
      signal,
    ),
});

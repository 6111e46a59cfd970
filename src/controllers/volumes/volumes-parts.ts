/** The inputs of the volume loop, and its retry delays. */

import type { Node } from "../../api/gen/core-v1.ts";
import type { ApiObject } from "../../api/resource.ts";
import { doublingMs } from "../../base/backoff.ts";
import type { TurnObserver } from "../../concurrency/keyed-worker.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { KnownObject } from "../../domain/cluster-objects/references.ts";
import type { JournaledPod } from "../../domain/journal/journaled-pod.ts";
import type { VolumeMetrics } from "../../domain/metrics/volume-metrics.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { PodVolumes } from "../../domain/volumes/volume-state.ts";
import type { Log } from "../../ports/log.ts";
import type { Quotas } from "../../ports/quotas.ts";
import type { SetUpPorts, VolumePlugin } from "./plugin.ts";
import type { TokenPorts } from "./tokens.ts";

export interface VolumesParts {
  readonly ports: SetUpPorts & Pick<TokenPorts, "api"> & { readonly log: Log };
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
  readonly sourcesReady: Latest<boolean>;
  /** The last full list of the runtime; undefined before the first. */
  readonly listedSandboxes: Latest<readonly Sandbox[] | undefined>;
  readonly referencedObjects: ReadonlyTable<string, KnownObject<ApiObject>>;
  /** The Node from the API server, or as we would register it. */
  readonly localNode: () => Promise<Node>;
  readonly mountState: LatestTable<string, PodVolumes>;
  readonly volumesKnown: LatestCell<boolean>;
  readonly volumesInUse: LatestCell<readonly string[] | undefined>;
  readonly journaledPods: ReadonlyMap<string, JournaledPod>;
  readonly plugins: readonly VolumePlugin[];
  readonly rootDir: string;
  readonly nodeName: string;
  /** Undefined: volumes get no project quotas. */
  readonly quotas: Quotas | undefined;
  readonly volumeMetrics?: VolumeMetrics;
  readonly queue?: TurnObserver<string>;
}

export const RETRY_MS_MIN = 500;
export const RETRY_MS_MAX = 122_000;
export const retryMs = (failures: number): number =>
  doublingMs({ firstMs: RETRY_MS_MIN, maxMs: RETRY_MS_MAX }, failures);

/** What a benchmark requires of a pod driver: the bare CRI client, or an agent through the API server. */

import type { Figure } from "./candidates.ts";
import type { Observations } from "./pod-observations.ts";
import type { Agent, World } from "./world.ts";

/**
 * `triggered`: one process that connects to the server of `exit-trigger.ts`; its container restarts when it exits.
 * `token` and `volumes` have volumes (`volume-fixtures.ts`). Without a kubelet nothing sets the volumes up; only the
 * containers are the same.
 */
export type PodKind = "pause" | "triggered" | "token" | "volumes";

export interface PodDriver {
  readonly agent: Agent | undefined;
  /** Time from the request until the pod runs and is ready, as observed by this process, in ms. */
  up(name: string, kind: PodKind): Promise<number>;
  /** Time from the request until the pod is gone, in ms. */
  down(name: string): Promise<number>;
  /** When the driver first observes a new state of the pod's container (monotonic clock). Call it before the change. */
  changeObserved(name: string): Promise<number>;
  /** Removes what `down` leaves behind. */
  tidy(): Promise<void>;
  end(): Promise<void>;
}

export interface Stage {
  readonly world: World;
  readonly driver: PodDriver;
  /** Prefix of the stage's pod names, so that no two stages of a run share a name. */
  readonly label: string;
}

export interface Outcome {
  readonly figures: readonly Figure[];
  readonly observations?: Observations;
}

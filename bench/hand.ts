/** What a benchmark requires of a pod driver: the bare CRI client, or an agent through the API server. */
import type { Observations } from "./life.ts";
import type { Figure } from "./subjects.ts";
import type { Agent, World } from "./world.ts";

/**
 * `visitor`: one process that connects to the server of `exit-door.ts`; its container restarts when it exits. `token`
 * and `volumes` have volumes (`volume-fixtures.ts`). Without a kubelet nothing sets the volumes up; only the containers
 * are the same.
 */
export type PodKind = "pause" | "visitor" | "token" | "volumes";

export interface Hand {
  readonly agent: Agent | undefined;
  /** Time from the request until the pod runs and is ready, as observed by this process, in ms. */
  up(name: string, kind: PodKind): Promise<number>;
  /** Time from the request until the pod is gone, in ms. */
  down(name: string): Promise<number>;
  /** When the driver first observes a new state of the pod's container (monotonic clock). Call it before the change. */
  noticed(name: string): Promise<number>;
  /** Removes what `down` leaves behind. */
  tidy(): Promise<void>;
  end(): Promise<void>;
}

export interface Stage {
  readonly world: World;
  readonly hand: Hand;
  /** Prefix of the stage's pod names, so that no two stages of a run share a name. */
  readonly label: string;
}

export interface Outcome {
  readonly figures: readonly Figure[];
  readonly observations?: Observations;
}

/** What a benchmark asks of whoever runs the pods: the bare client, or an agent through the API server. */
import type { Observations } from "./life.ts";
import type { Figure } from "./subjects.ts";
import type { Agent, World } from "./world.ts";

/**
 * `visitor`: one process that goes through the door of `exit-door.ts`, restarted when it ends. `token` and `furnished` have volumes
 * (`furnishings.ts`); without a kubelet nobody makes them, and only the containers are the same.
 */
export type PodKind = "pause" | "visitor" | "token" | "furnished";

export interface Hand {
  readonly agent: Agent | undefined;
  /** From the asking until it runs and is ready, seen from here, in ms. */
  up(name: string, kind: PodKind): Promise<number>;
  /** From the asking until it is gone, in ms. */
  down(name: string): Promise<number>;
  /** When it is first known that the pod's container changed its state after `sinceMs`, on the monotonic clock. Asked for before it happens. */
  noticed(name: string): Promise<number>;
  /** Removes what `down` leaves. */
  tidy(): Promise<void>;
  end(): Promise<void>;
}

export interface Stage {
  readonly world: World;
  readonly hand: Hand;
  /** Begins the names of its pods, so that no two stages of a run share one. */
  readonly label: string;
}

export interface Outcome {
  readonly figures: readonly Figure[];
  readonly observations?: Observations;
}

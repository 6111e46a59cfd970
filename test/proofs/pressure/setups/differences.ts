/** Where Deckhand intends to differ from the Go kubelet under pressure, as rewrites of the Go kubelet's outcome. */
import type { Outcome } from "./node-under-pressure.ts";

export interface Difference {
  readonly name: string;
  readonly why: string;
  readonly rewrite: (outcome: Outcome) => Outcome;
}

export const DIFFERENCES: readonly Difference[] = [];

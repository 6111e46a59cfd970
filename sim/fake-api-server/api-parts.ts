/** The parts of one fake API server. */
import type { Lists } from "./lists.ts";
import type { Questions } from "./questions.ts";
import type { Store } from "./store.ts";
import type { Watches } from "./watches.ts";
import type { Writes } from "./writes.ts";

export interface ApiParts {
  readonly store: Store;
  readonly lists: Lists;
  readonly writes: Writes;
  readonly watches: Watches;
  readonly questions: Questions;
  /** Throws when this agent cannot reach the server. */
  readonly reach: (operation: string, who: string) => void;
}

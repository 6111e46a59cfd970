import { LatestCell } from "./latest-cell.ts";

/** Wakes the loops that wait for its next version. Several `notify` calls before a loop waits again wake it once. */
export class Notifier extends LatestCell<undefined> {
  constructor() {
    super(undefined);
  }

  readonly notify = (): void => this.set(undefined);
}

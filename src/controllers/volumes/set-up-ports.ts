import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Mounts } from "../../ports/mounts.ts";
import type { Random } from "../../ports/random.ts";

/** The ports that the set-up of a volume needs. */
export interface SetUpPorts {
  readonly files: HostFiles;
  readonly mounts: Mounts;
  readonly journal: Journal;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly random: Random;
}

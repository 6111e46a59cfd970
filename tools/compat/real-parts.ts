/** Decides whether a test file ran Deckhand on real parts, from the parts that the file started in a recorded run. */
import type { RunRecord } from "../testing/run-record.ts";

const AGENT = "deckhand";
/** At least one of these must have run beside the agent. A guest has its own containerd. */
const REAL_PARTS: ReadonlySet<string> = new Set(["containerd", "kube-apiserver", "guest"]);

/** For reports without the list: these files run the agent only in guests. They count until their proof runs again. */
const IN_GUESTS = /^test\/(?:installed|guest)\//;

export function ranOnRealParts(run: RunRecord, file: string): boolean {
  const started = run.startedParts?.[file];
  if (started === undefined) return IN_GUESTS.test(file);
  return started.includes(AGENT) && started.some((part) => REAL_PARTS.has(part));
}

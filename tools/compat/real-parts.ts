/** Whether a test file ran Deckhand on real parts, by what the file started when it ran. */
import type { RunRecord } from "../testing/run-record.ts";

const AGENT = "deckhand";
/** At least one of these must have run beside the agent. A guest brings its own containerd. */
const REAL_PARTS: ReadonlySet<string> = new Set(["containerd", "kube-apiserver", "guest"]);

/** Reports from before the list existed: these files run the agent in guests and nowhere else. They count until their proof runs again. */
const IN_GUESTS = /^test\/(?:installed|guest)\//;

export function ranOnRealParts(run: RunRecord, file: string): boolean {
  const started = run.startedParts?.[file];
  if (started === undefined) return IN_GUESTS.test(file);
  return started.includes(AGENT) && started.some((part) => REAL_PARTS.has(part));
}

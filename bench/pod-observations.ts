/**
 * Turns what a watch observed of a pod's life into text that can be compared. Speed gained by skipping a step does not
 * count: both agents must show the same.
 */
import type { Request } from "./audit.ts";
import type { Seen } from "./pod-watcher.ts";

/** Keyed by what was observed. The benchmark reports any difference between agents. */
export type Observations = Readonly<Record<string, string>>;

export function observe(history: readonly Seen[], requests: readonly Request[]): Observations {
  const statuses = history.map(({ pod }) => pod.status ?? {});
  const ready = statuses.find(({ conditions }) =>
    (conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True"),
  );
  const state = ({ containerStatuses }: (typeof statuses)[number]) => {
    const { waiting, running, terminated } = containerStatuses?.[0]?.state ?? {};
    if (waiting !== undefined) return `waiting (${waiting.reason})`;
    if (terminated !== undefined) return `terminated (${terminated.reason}, ${terminated.exitCode})`;
    return running === undefined ? "none" : "running";
  };
  return {
    phases: steps(statuses.map(({ phase }) => phase ?? "none")),
    "container states": steps(statuses.map(state)),
    "conditions when ready": (ready?.conditions ?? [])
      .map(({ type, status, reason }) => `${type}=${status}${reason === undefined ? "" : ` (${reason})`}`)
      .sort()
      .join(", "),
    events: requests
      .map(({ reason }) => reason)
      .filter((reason) => reason !== undefined)
      .sort()
      .join(", "),
  };
}

const steps = (values: readonly string[]): string =>
  values.filter((value, index) => value !== values[index - 1]).join(" > ");

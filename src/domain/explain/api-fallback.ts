/** What the API server knows about a pod or a node, for a reader who cannot get the node's own explanation. */
import type { ContainerStatus, Event, Node, NodeCondition, Pod } from "../../api/gen/core-v1.ts";
import { COLUMNS, hanging, wrapped } from "./terminal-text.ts";

const EVENTS_MAX = 10;

/** `why`: why the node's own explanation is missing. `events`: oldest first, or why there are none. */
export function podFallback(why: string, pod: Pod, events: readonly Event[] | string): string {
  const { metadata, spec, status } = pod;
  const { phase = "Unknown", reason = "", message = "" } = status ?? {};
  const containers = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  const deleted = metadata?.deletionTimestamp;
  const lines = [
    ...wrapped(`${why} This is what the API server knows:`, COLUMNS),
    "",
    ...wrapped(`Pod ${metadata?.namespace}/${metadata?.name} on ${spec?.nodeName ?? "no node"}: ${phase}`, COLUMNS),
    ...detail("reason", reason, message),
    ...(deleted === undefined ? [] : wrapped(`deletion requested, due at ${deleted}`, COLUMNS)),
    ...conditionLines(status?.conditions ?? []),
    ...containers.flatMap(containerLines),
    ...eventLines(events),
  ];
  return `${lines.join("\n")}\n`;
}

export function nodeFallback(why: string, { metadata, status }: Node): string {
  const lines = [
    ...wrapped(`${why} This is what the API server knows:`, COLUMNS),
    "",
    ...wrapped(`Node ${metadata?.name}`, COLUMNS),
    ...conditionLines(status?.conditions ?? []),
  ];
  return `${lines.join("\n")}\n`;
}

type Condition = Pick<NodeCondition, "type" | "status" | "reason" | "message">;

const conditionLines = (conditions: readonly Condition[]): readonly string[] =>
  conditions.flatMap(({ type, status, reason = "", message = "" }) =>
    detail(`${type}=${status}`, reason, message, true),
  );

function containerLines({ name, state, lastState, restartCount }: ContainerStatus): readonly string[] {
  const { waiting, terminated } = state ?? {};
  const last = lastState?.terminated;
  return [
    ...detail(`container ${name} waits`, waiting?.reason, waiting?.message),
    ...detail(`container ${name} exited with ${terminated?.exitCode}`, terminated?.reason, terminated?.message),
    ...detail(
      `container ${name} restarted ${restartCount} times, last exit ${last?.exitCode}`,
      last?.reason,
      last?.message,
    ),
  ];
}

function eventLines(events: readonly Event[] | string): readonly string[] {
  if (typeof events === "string") return wrapped(`Events: ${events}`, COLUMNS);
  return events
    .slice(-EVENTS_MAX)
    .flatMap(({ lastTimestamp, eventTime, reason = "", message = "", count = 1 }) =>
      hanging(
        `${lastTimestamp ?? eventTime ?? "at an unknown time"}  `,
        `${reason}: ${message}${count > 1 ? ` (${count} times)` : ""}`,
      ),
    );
}

/** No line without a reason and a message, unless `always`. */
function detail(what: string, reason = "", message = "", always = false): readonly string[] {
  const said = [reason, message].filter((part) => part !== "").join(": ");
  if (said === "") return always ? [what] : [];
  return hanging(`${what}: `, said);
}

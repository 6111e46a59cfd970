/** An event as it was emitted, before the correlator decides whether and how to write it. */
import type { Event, ObjectReference, Pod } from "../../api/gen/core-v1.ts";
import { dnsSubdomainTroubles } from "../../base/names.ts";
import { apiTime } from "../../base/timestamp.ts";

export interface RecordedEvent {
  readonly subject: EventSubject;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly wallMs: number;
}

/** The object that an event is about. */
export interface EventSubject {
  readonly kind: "Pod" | "Node";
  readonly name: string;
  readonly namespace: string;
  /** Empty for a Node. */
  readonly uid: string;
  readonly resourceVersion?: string;
  /** Such as `spec.containers{app}`. */
  readonly fieldPath?: string;
}

export function podSubject(pod: Pod, fieldPath?: string): EventSubject {
  const { name = "", namespace = "", uid = "", resourceVersion } = pod.metadata ?? {};
  return {
    kind: "Pod",
    name,
    namespace,
    uid,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(fieldPath === undefined ? {} : { fieldPath }),
  };
}

/** The recorder adds the Node's UID when it writes the event. */
export const nodeSubject = (name: string): EventSubject => ({ kind: "Node", name, namespace: "", uid: "" });

/** The source of an event, the same in every event of one agent. */
export interface Reporter {
  readonly component: string;
  readonly host: string;
}

/** "name.hex", or `spare` where that is not a valid object name. */
export function eventName(objectName: string, wallNs: bigint, spare: string): string {
  const name = `${objectName}.${wallNs.toString(16)}`;
  return dnsSubdomainTroubles(name).length === 0 ? name : spare;
}

export interface Counted {
  readonly name: string;
  readonly count: number;
  readonly firstWallMs: number;
  readonly lastWallMs: number;
  readonly message: string;
}

/** The event to create. Events of the node go into the default namespace, because a Node has no namespace. */
export function eventObject(event: RecordedEvent, counted: Counted, reporter: Reporter): Event {
  const { subject, type, reason, annotations } = event;
  const involvedObject: ObjectReference = {
    kind: subject.kind,
    apiVersion: "v1",
    name: subject.name,
    ...(subject.namespace === "" ? {} : { namespace: subject.namespace }),
    ...(subject.uid === "" ? {} : { uid: subject.uid }),
    ...(subject.resourceVersion === undefined ? {} : { resourceVersion: subject.resourceVersion }),
    ...(subject.fieldPath === undefined ? {} : { fieldPath: subject.fieldPath }),
  };
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      name: counted.name,
      namespace: namespaceOf(subject),
      ...(annotations === undefined ? {} : { annotations }),
    },
    involvedObject,
    type,
    reason,
    message: counted.message,
    count: counted.count,
    firstTimestamp: apiTime(counted.firstWallMs),
    lastTimestamp: apiTime(counted.lastWallMs),
    source: { component: reporter.component, host: reporter.host },
    reportingComponent: reporter.component,
    reportingInstance: reporter.host,
  };
}

/** The fields that change when the event repeats. */
export const eventPatch = ({ count, lastWallMs, message }: Counted) => ({
  count,
  lastTimestamp: apiTime(lastWallMs),
  message,
});

export const namespaceOf = ({ namespace }: EventSubject) => (namespace === "" ? "default" : namespace);

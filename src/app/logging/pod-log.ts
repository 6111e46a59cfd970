/**
 * A log whose lines about a pod name it: callers give the pod's UID in the field `uid`, and the line has `pod`
 * (namespace/name) and `podUID`, so that a pod's lines are found by its name. A pod that nobody knows any more has only
 * its UID.
 */
import type { Log } from "../../ports/log.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Returns namespace/name of the pod; undefined: unknown. */
export type PodName = (uid: string) => string | undefined;

export function podLog(log: Log, nameOf: PodName): Log {
  const named = (fields: Fields | undefined): Fields | undefined => {
    const podUID = fields?.["uid"] ?? fields?.["podUID"];
    if (fields === undefined || typeof podUID !== "string") return fields;
    const { uid: _uid, podUID: _podUID, pod: given, container: containerName, ...rest } = fields;
    const pod = given ?? nameOf(podUID);
    return {
      ...(pod === undefined ? {} : { pod }),
      podUID,
      ...(containerName === undefined ? {} : { containerName }),
      ...rest,
    };
  };
  return {
    info: (level, message, fields) => log.info(level, message, named(fields)),
    error: (message, error, fields) => log.error(message, error, named(fields)),
  };
}

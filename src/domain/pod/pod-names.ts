/** Names of a pod in file paths, logs and messages. */
import type { Pod } from "../../api/gen/core-v1.ts";

export interface PodName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export const podNameOfObject = (pod: Pod): PodName => ({
  namespace: pod.metadata?.namespace ?? "",
  name: pod.metadata?.name ?? "",
  uid: pod.metadata?.uid ?? "",
});

/** As messages spell it: `name_namespace(uid)`. */
export const describePod = ({ namespace, name, uid }: PodName): string => `${name}_${namespace}(${uid})`;

export const podLogDirectory = (podLogsDir: string, { namespace, name, uid }: PodName): string =>
  `${podLogsDir}/${namespace}_${name}_${uid}`;

export const containerLogPath = (container: string, restartCount: number): string => `${container}/${restartCount}.log`;

const LINK_BYTES_MAX = 255;
const LINK_SUFFIX = ".log";

/** The link's name under /var/log/containers, where log agents read. */
export function logLinkName({ namespace, name }: PodName, container: string, containerId: string): string {
  const whole = `${name}_${namespace}_${container}-${containerId}`;
  return whole.slice(0, LINK_BYTES_MAX - LINK_SUFFIX.length) + LINK_SUFFIX;
}

export const podDirectory = (rootDir: string, uid: string): string => `${rootDir}/pods/${uid}`;

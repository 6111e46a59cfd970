/** `reservedSystemCPUs`: CPUs that pods do not get. */
import { parseCpuSet } from "../../base/cpu-set.ts";

export interface ReservedCpus {
  readonly cpus: ReadonlySet<number>;
  /** As the configuration spells them. */
  readonly cpusText: string;
}

/**
 * Why the kubelet may not start on a machine with these CPUs online ("0-3"), in upstream's words. Undefined if it may.
 */
export function reservedCpusFault({ cpus, cpusText }: ReservedCpus, onlineCpus: string): string | undefined {
  const online = parseCpuSet(onlineCpus);
  if (typeof online === "string") throw new Error(`the online CPUs of this machine are ${onlineCpus}: ${online}`);
  return [...cpus].every((cpu) => online.has(cpu))
    ? undefined
    : `reserved-cpus: ${cpusText} is not a subset of online-cpus: ${onlineCpus}`;
}

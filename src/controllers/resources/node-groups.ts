/** What the groups above all pods should be held to, as a list, read from the machine and the settings. */

import { KUBEPODS } from "../../domain/resources/cgroup-name.ts";
import type { CgroupName, CgroupValues } from "../../domain/resources/cgroup-values.ts";
import { kernelPageSize } from "../../domain/resources/hugepages.ts";
import type { MemoryQos } from "../../domain/resources/memory-qos.ts";
import { kubepodsValues, type Reservations, reservedValues } from "../../domain/resources/node-allocatable.ts";
import type { MachineFacts } from "../../ports/machine.ts";

/** `enforceNodeAllocatable`, without its "none". */
export type Enforcement =
  | "pods"
  | "system-reserved"
  | "kube-reserved"
  | "system-reserved-compressible"
  | "kube-reserved-compressible";

export interface NodeGroupSettings {
  readonly nodeName: string;
  /** As a name; names in messages start from it. */
  readonly cgroupRoot: CgroupName;
  readonly reservations: Reservations;
  readonly enforce: ReadonlySet<Enforcement>;
  /** Paths from the root of all groups. */
  readonly systemReservedCgroup: string;
  readonly kubeReservedCgroup: string;
  /** Only with the gate, and only cgroup v2 can. */
  readonly memoryQos?: MemoryQos;
}

export const hugepageSizesOf = ({ hugepages }: MachineFacts): readonly string[] =>
  [...hugepages.keys()].map(kernelPageSize);

export const allPods = (facts: MachineFacts, settings: NodeGroupSettings): readonly [CgroupName, CgroupValues] => [
  KUBEPODS,
  kubepodsValues({
    cpus: facts.cpus,
    memoryBytes: facts.memoryBytes,
    pidsMax: BigInt(facts.pidsMax),
    reservations: settings.reservations,
    enforcePods: settings.enforce.has("pods"),
    onlineCpus: facts.onlineCpus,
  }),
];

export interface ReservedGroup {
  readonly path: string;
  /** Undefined: it is to be enforced, and nothing is reserved. */
  readonly values: CgroupValues | undefined;
  /** As messages call it. */
  readonly title: string;
  readonly subject: "system" | "kube";
}

/** In the order upstream goes through them. */
export function reservedGroups(facts: MachineFacts, settings: NodeGroupSettings): readonly ReservedGroup[] {
  const { enforce, reservations } = settings;
  const keepsMemory = settings.memoryQos !== undefined;
  const machine = { hugepageSizes: hugepageSizesOf(facts), keepsMemory, onlineCpus: facts.onlineCpus };
  const of = (subject: "system" | "kube", compressible: boolean): readonly ReservedGroup[] => {
    if (!enforce.has(compressible ? `${subject}-reserved-compressible` : `${subject}-reserved`)) return [];
    const isSystem = subject === "system";
    const reserved = isSystem ? reservations.systemReserved : reservations.kubeReserved;
    return [
      {
        path: isSystem ? settings.systemReservedCgroup : settings.kubeReservedCgroup,
        values: reserved.size === 0 ? undefined : reservedValues(reserved, machine, { compressible }),
        title: `${isSystem ? "System" : "Kube"} Reserved${compressible ? " Compressible" : ""}`,
        subject,
      },
    ];
  };
  return [...of("system", false), ...of("kube", false), ...of("system", true), ...of("kube", true)];
}

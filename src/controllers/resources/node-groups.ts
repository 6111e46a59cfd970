/** Computes the values of the cgroups above all pods from the machine and the settings. */

import { KUBEPODS } from "../../domain/resources/cgroup-name.ts";
import type { CgroupName, CgroupValues } from "../../domain/resources/cgroup-values.ts";
import { kernelPageSize } from "../../domain/resources/hugepages.ts";
import type { MemoryQos } from "../../domain/resources/memory-qos.ts";
import { kubepodsValues, type Reservations, reservedValues } from "../../domain/resources/node-allocatable.ts";
import type { MachineFacts } from "../../ports/machine.ts";

/** The values of `enforceNodeAllocatable` except "none". */
export type Enforcement =
  | "pods"
  | "system-reserved"
  | "kube-reserved"
  | "system-reserved-compressible"
  | "kube-reserved-compressible";

export interface NodeGroupSettings {
  readonly nodeName: string;
  /** The configured cgroup root, with which names in messages begin. */
  readonly cgroupRoot: CgroupName;
  readonly reservations: Reservations;
  readonly enforce: ReadonlySet<Enforcement>;
  /** Paths from the root of the cgroup hierarchy. */
  readonly systemReservedCgroup: string;
  readonly kubeReservedCgroup: string;
  /** Set only with the feature gate and on cgroup v2. */
  readonly memoryQos?: MemoryQos;
  /** Percentage of the memory requests that is reserved for their QoS classes. Set only with the feature gate. */
  readonly qosReservedMemory?: bigint;
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
  /** Undefined: enforcement is configured, but nothing is reserved. */
  readonly values: CgroupValues | undefined;
  /** The title in messages. */
  readonly title: string;
  readonly subject: "system" | "kube";
}

/** In upstream's order. */
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

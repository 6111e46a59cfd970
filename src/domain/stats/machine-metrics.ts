/** The metric families of /metrics/cadvisor that describe the machine. */
import type { Family, Labels, Sample } from "../../base/metrics/family.ts";

export interface MachineToTell {
  readonly cpus: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: bigint;
  readonly swapBytes: bigint;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
}

export function machineFamilies(machine: MachineToTell): readonly Family[] {
  const base: Labels = [
    ["boot_id", machine.bootId],
    ["machine_id", machine.machineId],
    ["system_uuid", machine.systemUuid],
  ];
  const gauge = (name: string, help: string, value: number): Family => gaugeOf(name, help, [{ labels: base, value }]);
  const memory = (mode: string): Sample => ({
    labels: [...base.slice(0, 2), ["mode", mode], ...base.slice(2)],
    value: 0,
  });
  return [
    gaugeOf(
      "cadvisor_version_info",
      "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
      [{ labels: versionLabels(machine), value: 1 }],
    ),
    // Books and drawers are parts of mainframes. cAdvisor finds persistent memory only in builds with support for it,
    // which no kubelet is.
    gauge("machine_cpu_books", "Number of CPU books.", 0),
    gauge("machine_cpu_cores", "Number of logical CPU cores.", machine.cpus),
    gauge("machine_cpu_drawers", "Number of CPU drawers.", 0),
    gauge("machine_cpu_physical_cores", "Number of physical CPU cores.", machine.physicalCores),
    gauge("machine_cpu_sockets", "Number of CPU sockets.", machine.sockets),
    gauge("machine_memory_bytes", "Amount of memory installed on the machine.", Number(machine.memoryBytes)),
    gauge("machine_nvm_avg_power_budget_watts", "NVM power budget.", 0),
    gaugeOf("machine_nvm_capacity", "NVM capacity value labeled by NVM mode (memory mode or app direct mode).", [
      memory("app_direct_mode"),
      memory("memory_mode"),
    ]),
    gaugeOf("machine_scrape_error", "1 if there was an error while getting machine metrics, 0 otherwise.", [
      { labels: [], value: 0 },
    ]),
    gauge("machine_swap_bytes", "Amount of swap memory available on the machine.", Number(machine.swapBytes)),
  ];
}

const versionLabels = ({ kernelVersion, osImage }: MachineToTell): Labels => [
  ["cadvisorRevision", ""],
  ["cadvisorVersion", ""],
  ["dockerVersion", ""],
  ["kernelVersion", kernelVersion],
  ["osVersion", osImage],
];

const gaugeOf = (name: string, help: string, samples: readonly Sample[]): Family => ({
  name,
  help,
  kind: "gauge",
  samples,
});

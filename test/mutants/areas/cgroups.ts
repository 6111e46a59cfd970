import type { MutantArea } from "../mutant.ts";

/** Runs all cases of the suite, because it starts no cluster. */
const SUITE = { suite: "cgroup-differential", cases: "." } as const;

export const CGROUPS: MutantArea = {
  area: "cgroups",
  mutants: [
    {
      name: "a CPU quota may be less than the kernel takes",
      file: "src/domain/resources/cpu-units.ts",
      find: "const QUOTA_US_MIN = 1000;",
      replace: "const QUOTA_US_MIN = 100;",
      ...SUITE,
      tests: "\\[14\\.3\\]",
    },
    {
      name: "CPU shares are rounded up",
      file: "src/domain/resources/cpu-units.ts",
      find: "const shares = (milliCpu * 1024n) / 1000n;",
      replace: "const shares = (milliCpu * 1024n + 999n) / 1000n;",
      ...SUITE,
      tests: "\\[14\\.3\\]",
    },
    {
      name: "the largest init container does not count for its pod's group",
      file: "src/domain/resources/pod-resources.ts",
      find: "return initPhases(spec, kind).reduce(maxLists, lasting);",
      replace: "return lasting;",
      ...SUITE,
      tests: "\\[14\\.3\\]",
    },
    {
      name: "memory that a pod requests and its containers do too counts twice for the OOM score",
      file: "src/domain/resources/oom-score.ts",
      find: "return (podBytes - (assigned === undefined ? 0n : quantityValue(assigned))) / BigInt(containers);",
      replace: "return podBytes / BigInt(containers);",
      ...SUITE,
      tests: "\\[14\\.7\\]",
    },
    {
      name: "Guaranteed pods weigh in the Burstable tier",
      file: "src/domain/resources/qos-cgroups.ts",
      find: 'if (podQosClass(pod) !== "Burstable") continue;',
      replace: 'if (podQosClass(pod) === "BestEffort") continue;',
      ...SUITE,
      tests: "\\[14\\.9\\]",
    },
    {
      name: "the reservation for Kubernetes daemons is not kept from pods",
      file: "src/domain/resources/node-allocatable.ts",
      find: "  systemReserved.get(name),\n  kubeReserved.get(name),\n",
      replace: "  systemReserved.get(name),\n",
      ...SUITE,
      tests: "\\[14\\.8\\]",
    },
    {
      name: "the limit of process ids is not written",
      file: "src/wire/cgroupfs/v1-settings.ts",
      find: '    ...one("pids", "pids.max", pidsMax === undefined ? undefined : pidsText(pidsMax)),\n',
      replace: "",
      ...SUITE,
      tests: "\\[14\\.4\\]\\[14\\.6\\]",
    },
  ],
};

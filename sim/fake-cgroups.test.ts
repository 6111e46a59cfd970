import type { CgroupName } from "../src/domain/resources/cgroup-values.ts";
import type { CgroupDriver } from "../src/domain/runtime/runtime-info.ts";
import { type CgroupsWorld, cgroupsContract } from "../test/contract/cgroups-contract.ts";
import { FakeCgroups } from "./fake-cgroups.ts";

const NO_LIMIT = { memoryLimitBytes: -1n, pidsMax: -1n, cpuQuotaUs: -1, cpuPeriodUs: 100_000 };

for (const [title, driver, root, podPath] of [
  ["the fake keeps the contract of Cgroups", "cgroupfs", [], "/a/b/pod1-2"],
  [
    "the fake keeps the contract of Cgroups with systemd's names",
    "systemd",
    ["my-root"],
    "/my_root.slice/my_root-a.slice/my_root-a-b.slice/my_root-a-b-pod1_2.slice",
  ],
] as const) {
  cgroupsContract(title, () => openFake(driver, root, podPath));
}

function openFake(driver: CgroupDriver, root: CgroupName, podPath: string): Promise<CgroupsWorld> {
  const alive = new Set<number>();
  const cgroups = new FakeCgroups({ driver, root, onKill: (pid) => alive.delete(pid) });
  let lastPid = 100;
  return Promise.resolve({
    cgroups,
    podPath,
    read: (name) => Promise.resolve({ ...NO_LIMIT, ...cgroups.valuesOf(name) }),
    start: (name) => {
      lastPid += 1;
      alive.add(lastPid);
      cgroups.place(lastPid, name);
      return Promise.resolve(lastPid);
    },
    fill: (name, bytes) => Promise.resolve(cgroups.fill(name, bytes)),
    isAlive: (pid) => Promise.resolve(alive.has(pid)),
    meetLimit: (name) => Promise.resolve(cgroups.meetLimit(name)),
    close: () => Promise.resolve(),
  });
}

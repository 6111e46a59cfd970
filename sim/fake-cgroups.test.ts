import { cgroupsContract } from "../test/contract/cgroups-contract.ts";
import { FakeCgroups } from "./fake-cgroups.ts";

const NO_LIMIT = { memoryLimitBytes: -1n, pidsMax: -1n, cpuQuotaUs: -1, cpuPeriodUs: 100_000 };

cgroupsContract("the fake keeps the contract of Cgroups", () => {
  const alive = new Set<number>();
  const cgroups = new FakeCgroups({ onKill: (pid) => alive.delete(pid) });
  let lastPid = 100;
  return Promise.resolve({
    cgroups,
    read: (name) => Promise.resolve({ ...NO_LIMIT, ...cgroups.valuesOf(name) }),
    start: (name) => {
      lastPid += 1;
      alive.add(lastPid);
      cgroups.place(lastPid, name);
      return Promise.resolve(lastPid);
    },
    fill: (name, bytes) => Promise.resolve(cgroups.fill(name, bytes)),
    isAlive: (pid) => Promise.resolve(alive.has(pid)),
    close: () => Promise.resolve(),
  });
});

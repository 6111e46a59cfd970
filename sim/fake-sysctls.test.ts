import { sysctlsContract } from "../test/contract/sysctls-contract.ts";
import { FakeSysctls } from "./fake-sysctls.ts";

sysctlsContract("the simulator's kernel", async () => {
  const sysctls = new FakeSysctls();
  sysctls.locked.add("kernel.panic");
  const names = { open: "vm.overcommit_memory", locked: "kernel.panic", missing: "kernel.no_such" };
  return { sysctls, names };
});

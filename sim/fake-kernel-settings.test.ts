import { kernelSettingsContract } from "../test/contract/kernel-settings-contract.ts";
import { FakeKernelSettings } from "./fake-kernel-settings.ts";

kernelSettingsContract("the simulator's kernel", async () => {
  const settings = new FakeKernelSettings();
  settings.locked.add("kernel.panic");
  const names = { open: "vm.overcommit_memory", locked: "kernel.panic", missing: "kernel.no_such" };
  return { settings, names };
});

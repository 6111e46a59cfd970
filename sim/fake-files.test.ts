import { hostFilesContract } from "../test/contract/host-files-contract.ts";
import { ManualClock } from "../test/support/manual-clock.ts";
import { FakeFiles } from "./fake-files.ts";

hostFilesContract("the simulator's files", async () => {
  const fake = new FakeFiles({ clock: new ManualClock() });
  fake.makeFolder("/var/scratch", 0o755);
  return { files: fake.port, folder: "/var/scratch", end: async () => {} };
});

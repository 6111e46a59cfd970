import { journalContract } from "../test/contract/journal-contract.ts";
import { ManualClock } from "../test/support/manual-clock.ts";
import { FakeFiles } from "./fake-files.ts";

journalContract("the simulator's files", async () => {
  const fake = new FakeFiles({ clock: new ManualClock() });
  return { restart: () => fake.port, directory: "/var/lib/kubelet/deckhand/journal", end: async () => {} };
});

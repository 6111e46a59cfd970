import { statsContract } from "../test/contract/stats-contract.ts";
import { FakeCgroups } from "./fake-cgroups.ts";
import { FakeFiles } from "./fake-files.ts";
import { FakeMachine } from "./fake-machine.ts";
import { FakeStats } from "./fake-stats.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { install } from "./world-files.ts";

statsContract("the fake of the simulator keeps the contract of Stats", async () => {
  const clock = new VirtualClock();
  const cgroups = new FakeCgroups();
  const files = new FakeFiles({ clock });
  install(files, "/var/log/one/0.log", "some words");
  const [pod, id] = ["pod1", "c".repeat(64)];
  const names = [["kubepods"], ["kubepods", pod], ["kubepods", pod, id]];
  for (const name of names) await cgroups.apply(name, {});
  cgroups.place(7, ["kubepods", pod, id]);
  return {
    stats: new FakeStats({ clock, cgroups, machine: new FakeMachine("n1"), files }),
    group: "/kubepods",
    pod: `/kubepods/${pod}`,
    container: `/kubepods/${pod}/${id}`,
    empty: () => cgroups.destroy(["kubepods", pod], new AbortController().signal),
    file: "/var/log/one/0.log",
    directory: "/var/log/one",
    pass: () => clock.advance(1_000),
    close: async () => {},
  };
});

/** The contract of Stats on the kernel's own cgroups, below the test's own parent, read by the stats thread. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createCgroups } from "../../src/wire/cgroupfs/cgroups.ts";
import { cgroupfsDriver } from "../../src/wire/cgroupfs/driver.ts";
import { parseHierarchies } from "../../src/wire/cgroupfs/hierarchies.ts";
import { hostTree } from "../../src/wire/cgroupfs/tree.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { createStats } from "../../src/wire/stats/stats.ts";
import { removeCgroup } from "../cluster/cgroups.ts";
import { statsContract } from "../contract/stats-contract.ts";

const program = new URL("../../src/wire/stats/thread/main.ts", import.meta.url);
const forever = new AbortController().signal;

statsContract("the kernel's groups keep the contract of Stats", async () => {
  const parent = `deckhand-stats-${process.pid}`;
  const hierarchies = parseHierarchies(await readFile("/proc/self/mounts", "utf8"));
  const cgroups = createCgroups({
    hierarchies,
    root: [parent],
    driver: cgroupfsDriver,
    tree: hostTree,
    clock: hostClock,
  });
  const [pod, id] = ["pod1", "c".repeat(64)];
  await cgroups.apply([pod, id], {});
  const directory = await mkdtemp(join(tmpdir(), "deckhand-stats-"));
  const file = join(directory, "0.log");
  await writeFile(file, "some words");
  const child = spawn("sh", ["-c", "while :; do :; done"], { stdio: "ignore" });
  await new Promise((resolve) => child.once("spawn", resolve));
  const mounts = hierarchies.version === 1 ? hierarchies.mounts.map(({ path }) => path) : [hierarchies.path];
  for (const path of mounts) await writeFile(join(path, parent, pod, id, "cgroup.procs"), String(child.pid));
  const stats = createStats({ clock: hostClock, program });
  return {
    stats,
    group: `/${parent}`,
    pod: `/${parent}/${pod}`,
    container: `/${parent}/${pod}/${id}`,
    empty: () => cgroups.destroy([pod], forever),
    file,
    directory,
    pass: () => setTimeout(50),
    async close() {
      child.kill("SIGKILL");
      await stats.close();
      await cgroups.destroy([pod], forever);
      await removeCgroup(`/${parent}`);
      await rm(directory, { recursive: true });
    },
  };
});

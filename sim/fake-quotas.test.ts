import assert from "node:assert/strict";
import { test } from "node:test";
import { quotasContract } from "../test/contract/quotas-contract.ts";
import { DemandDriver } from "./demand-driver.ts";
import { FakeFiles } from "./fake-files.ts";
import { FakeMounts } from "./fake-mounts.ts";
import { FakeQuotas } from "./fake-quotas.ts";
import { SeededRandom } from "./seeded-random.ts";
import { VirtualClock } from "./virtual-clock.ts";

const [COUNTED, UNCOUNTED] = ["/var/lib/kubelet", "/mnt/other"];
const { signal } = new AbortController();

function create() {
  const clock = new VirtualClock();
  const files = new FakeFiles({ clock });
  const quotas = new FakeQuotas(files, new FakeMounts(files, clock));
  for (const directory of [COUNTED, UNCOUNTED]) files.makeDirectory(directory, 0o755);
  quotas.counted.add(COUNTED);
  return { files, quotas, driven: new DemandDriver(clock).drive<FakeQuotas>(quotas) };
}

quotasContract("the simulator", async () => {
  const { files, quotas, driven } = create();
  return {
    quotas: driven,
    files: files.port,
    counted: COUNTED,
    uncounted: UNCOUNTED,
    hide: async (directory, bytes) => quotas.hide(directory, bytes),
    end: async () => {},
  };
});

void test("projects survive a crash of the machine, and an obstacle keeps new directories from getting one", async () => {
  const { files, quotas } = create();
  const path = `${COUNTED}/v`;
  files.makeDirectory(path, 0o755);
  const first = await quotas.assign(path, signal);
  assert.equal(first.kind, "assigned");
  files.crash(new SeededRandom(1));
  files.makeDirectory(path, 0o755);
  quotas.obstacle = "tool";
  assert.deepEqual(await quotas.assign(path, signal), first);
  files.makeDirectory(`${COUNTED}/w`, 0o755);
  assert.deepEqual(await quotas.assign(`${COUNTED}/w`, signal), { kind: "unavailable", why: "tool" });
});

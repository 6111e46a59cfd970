import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "../test/contract/mounts/mounts-world.ts";
import { mountsContract } from "../test/contract/mounts-contract.ts";
import { DemandDriver } from "./demand-driver.ts";
import { drain } from "./drain.ts";
import { FakeFiles } from "./fake-files.ts";
import { FakeMounts } from "./fake-mounts.ts";
import { SeededRandom } from "./seeded-random.ts";
import { VirtualClock } from "./virtual-clock.ts";

const DIRECTORY = "/var/scratch";

function create() {
  const clock = new VirtualClock();
  const files = new FakeFiles({ clock });
  const mounts = new FakeMounts(files, clock);
  files.makeDirectory(DIRECTORY, 0o755);
  return { clock, files, mounts, driven: new DemandDriver(clock).drive<FakeMounts>(mounts) };
}

mountsContract("the simulator", async () => {
  const { files, mounts, driven } = create();
  let devices = 0;
  return {
    mounts: driven,
    files: files.port,
    directory: DIRECTORY,
    plant: async (path) => mounts.plant(path),
    plantDead: async (path) => {
      mounts.plant(path);
      mounts.dead.add(path);
    },
    device: async () => {
      devices += 1;
      mounts.devices.add(`/dev/fake-${devices}`);
      return `/dev/fake-${devices}`;
    },
    end: async () => {},
  };
});

const MEMORY = { sizeBytes: undefined, noSwap: false };
const bytes = new TextEncoder().encode("precious");

void test("a reboot removes all mounts and all tmpfs content, and keeps the files of disks", async () => {
  const { files, mounts, driven } = create();
  const { port } = files;
  mounts.devices.add("/dev/fake");
  await driven.format("/dev/fake", "ext4", signal);
  for (const name of ["memory", "disk", "data"]) await port.makeDirectory(`${DIRECTORY}/${name}`, 0o755);
  await port.writeAtomically(`${DIRECTORY}/data/file`, bytes, 0o600);
  await port.writeAtomically(`${DIRECTORY}/memory/below`, bytes, 0o600);
  await port.writeAtomically(`${DIRECTORY}/disk/below`, bytes, 0o600);
  await driven.mountMemory(`${DIRECTORY}/memory`, MEMORY, signal);
  await driven.mountDevice("/dev/fake", `${DIRECTORY}/disk`, "ext4", [], signal);
  await driven.bind(`${DIRECTORY}/data`, `${DIRECTORY}/bound`, [], signal);
  await port.writeAtomically(`${DIRECTORY}/memory/file`, bytes, 0o600);
  await port.writeAtomically(`${DIRECTORY}/disk/file`, bytes, 0o600);
  mounts.dead.add(`${DIRECTORY}/memory`);
  files.crash(new SeededRandom(1));
  assert.equal((await driven.table()).length, 1);
  assert.deepEqual(await files.port.list(`${DIRECTORY}/memory`), ["below"]);
  assert.deepEqual(await files.port.list(`${DIRECTORY}/data`), ["file"]);
  await driven.mountDevice("/dev/fake", `${DIRECTORY}/disk`, "ext4", [], signal);
  assert.deepEqual(await files.port.list(`${DIRECTORY}/disk`), ["file"]);
});

void test("mounts survive a killed agent", async () => {
  const { files, driven } = create();
  await files.port.makeDirectory(`${DIRECTORY}/v`, 0o755);
  await driven.mountMemory(`${DIRECTORY}/v`, MEMORY, signal);
  await files.port.writeNew(`${DIRECTORY}/v/file`, bytes, { mode: 0o600 });
  files.kill();
  assert.deepEqual(await files.port.list(`${DIRECTORY}/v`), ["file"]);
});

void test("on a dead mount this port fails with unresponsive after 10 s, and the files port never returns", async () => {
  const { clock, files, mounts } = create();
  await files.port.makeDirectory(`${DIRECTORY}/v/below`, 0o755);
  mounts.dead.add(`${DIRECTORY}/v`);
  const ended: string[] = [];
  void mounts.kindOf(`${DIRECTORY}/v/below`, signal).catch(({ code }: { code: string }) => ended.push(code));
  void files.port.facts(`${DIRECTORY}/v/below`).then(() => ended.push("facts"));
  await drain();
  const beginMs = clock.monotonicMs();
  while (clock.fireNext(Number.POSITIVE_INFINITY)) await drain();
  assert.deepEqual([ended, clock.monotonicMs() - beginMs], [["unresponsive"], 10_000]);
});

void test("unmounting a mount in use fails with busy unless lazy, and applying fsGroup takes its configured time", async () => {
  const { clock, files, mounts, driven } = create();
  const path = `${DIRECTORY}/v`;
  await files.port.makeDirectory(path, 0o755);
  mounts.plant(path);
  mounts.busy.add(path);
  await assert.rejects(driven.unmount(path, { lazy: false }, signal), { code: "busy" });
  mounts.applyFsGroupMs.set(path, 45_000);
  let reported = 0;
  const change = { group: 1, readOnly: false, onlyIfRootDiffers: false, onProgress: () => void (reported += 1) };
  await driven.applyFsGroup(path, change, signal);
  assert.deepEqual([reported, clock.monotonicMs()], [45, 45_000]);
  await driven.unmount(path, { lazy: true }, signal);
  assert.equal((await driven.table()).length, 1);
});

void test("an NFS export keeps its files from one mount to the next", async () => {
  const { files, driven } = create();
  const path = `${DIRECTORY}/v`;
  await files.port.makeDirectory(path, 0o755);
  for (let turn = 0; turn < 2; turn += 1) {
    await driven.mountDevice("server:/export", path, "nfs", ["hard"], signal);
    if (turn === 0) await files.port.writeNew(`${path}/file`, bytes, { mode: 0o600 });
    assert.deepEqual(await files.port.list(path), ["file"]);
    await driven.unmount(path, { lazy: false }, signal);
    assert.deepEqual(await files.port.list(path), []);
  }
});

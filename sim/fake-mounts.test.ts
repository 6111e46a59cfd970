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

const FOLDER = "/var/scratch";

function create() {
  const clock = new VirtualClock();
  const files = new FakeFiles({ clock });
  const mounts = new FakeMounts(files, clock);
  files.makeFolder(FOLDER, 0o755);
  return { clock, files, mounts, driven: new DemandDriver(clock).drive<FakeMounts>(mounts) };
}

mountsContract("the simulator", async () => {
  const { files, mounts, driven } = create();
  let devices = 0;
  return {
    mounts: driven,
    files: files.port,
    folder: FOLDER,
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

void test("a restart of the machine leaves nothing mounted, nothing in memory, and a disk its files", async () => {
  const { files, mounts, driven } = create();
  const { port } = files;
  mounts.devices.add("/dev/fake");
  await driven.format("/dev/fake", "ext4", signal);
  for (const name of ["memory", "disk", "data"]) await port.makeFolder(`${FOLDER}/${name}`, 0o755);
  await port.writeAtomically(`${FOLDER}/data/file`, bytes, 0o600);
  await port.writeAtomically(`${FOLDER}/memory/below`, bytes, 0o600);
  await port.writeAtomically(`${FOLDER}/disk/below`, bytes, 0o600);
  await driven.mountMemory(`${FOLDER}/memory`, MEMORY, signal);
  await driven.mountDevice("/dev/fake", `${FOLDER}/disk`, "ext4", [], signal);
  await driven.bind(`${FOLDER}/data`, `${FOLDER}/bound`, [], signal);
  await port.writeAtomically(`${FOLDER}/memory/file`, bytes, 0o600);
  await port.writeAtomically(`${FOLDER}/disk/file`, bytes, 0o600);
  mounts.dead.add(`${FOLDER}/memory`);
  files.crash(new SeededRandom(1));
  assert.equal((await driven.table()).length, 1);
  assert.deepEqual(await files.port.list(`${FOLDER}/memory`), ["below"]);
  assert.deepEqual(await files.port.list(`${FOLDER}/data`), ["file"]);
  await driven.mountDevice("/dev/fake", `${FOLDER}/disk`, "ext4", [], signal);
  assert.deepEqual(await files.port.list(`${FOLDER}/disk`), ["file"]);
});

void test("an agent that is killed leaves what it mounted", async () => {
  const { files, driven } = create();
  await files.port.makeFolder(`${FOLDER}/v`, 0o755);
  await driven.mountMemory(`${FOLDER}/v`, MEMORY, signal);
  await files.port.writeNew(`${FOLDER}/v/file`, bytes, { mode: 0o600 });
  files.kill();
  assert.deepEqual(await files.port.list(`${FOLDER}/v`), ["file"]);
});

void test("what is dead answers nobody: this port gives up after its limit, and the machine's files never", async () => {
  const { clock, files, mounts } = create();
  await files.port.makeFolder(`${FOLDER}/v/below`, 0o755);
  mounts.dead.add(`${FOLDER}/v`);
  const ended: string[] = [];
  void mounts.kindOf(`${FOLDER}/v/below`, signal).catch(({ code }: { code: string }) => ended.push(code));
  void files.port.facts(`${FOLDER}/v/below`).then(() => ended.push("facts"));
  await drain();
  const beginMs = clock.monotonicMs();
  while (clock.fireNext(Number.POSITIVE_INFINITY)) await drain();
  assert.deepEqual([ended, clock.monotonicMs() - beginMs], [["unresponsive"], 10_000]);
});

void test("a mount in use is busy but for a lazy unmount, and an ownership pass takes the time it is given", async () => {
  const { clock, files, mounts, driven } = create();
  const path = `${FOLDER}/v`;
  await files.port.makeFolder(path, 0o755);
  mounts.plant(path);
  mounts.busy.add(path);
  await assert.rejects(driven.unmount(path, { lazy: false }, signal), { code: "busy" });
  mounts.ownMs.set(path, 45_000);
  let told = 0;
  const pass = { group: 1, readOnly: false, onlyIfRootDiffers: false, onProgress: () => void (told += 1) };
  await driven.own(path, pass, signal);
  assert.deepEqual([told, clock.monotonicMs()], [45, 45_000]);
  await driven.unmount(path, { lazy: true }, signal);
  assert.equal((await driven.table()).length, 1);
});

void test("a server's export keeps its files from one mount to the next", async () => {
  const { files, driven } = create();
  const path = `${FOLDER}/v`;
  await files.port.makeFolder(path, 0o755);
  for (let turn = 0; turn < 2; turn += 1) {
    await driven.mountDevice("server:/export", path, "nfs", ["hard"], signal);
    if (turn === 0) await files.port.writeNew(`${path}/file`, bytes, { mode: 0o600 });
    assert.deepEqual(await files.port.list(path), ["file"]);
    await driven.unmount(path, { lazy: false }, signal);
    assert.deepEqual(await files.port.list(path), []);
  }
});

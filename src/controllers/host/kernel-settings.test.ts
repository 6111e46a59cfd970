import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeKernelSettings } from "../../../sim/fake-kernel-settings.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { KERNEL_TUNABLES } from "../../domain/host/kernel-tunables.ts";
import { settleKernelSettings } from "./kernel-settings.ts";

const WANTED = KERNEL_TUNABLES.map(({ name, wanted }) => [name, wanted] as const);

async function settle(settings: FakeKernelSettings, more: { protect?: boolean; inUserNamespace?: boolean } = {}) {
  const log = keptLog();
  await settleKernelSettings({ settings, log, protect: false, inUserNamespace: false, ...more });
  return log.lines;
}

const valuesOf = async (settings: FakeKernelSettings) =>
  Promise.all(WANTED.map(async ([name]) => [name, await settings.read(name)] as const));

test("[1.15] wrong kernel settings are written, correct ones are left alone", async () => {
  const settings = new FakeKernelSettings();
  assert.deepEqual(
    (await settle(settings)).map((line) => /"flag":"([^"]+)"/.exec(line)?.[1]),
    ["vm.overcommit_memory", "kernel.panic", "kernel.panic_on_oops"],
  );
  assert.deepEqual(await valuesOf(settings), [
    ["vm.overcommit_memory", "1"],
    ["vm.panic_on_oom", "0"],
    ["kernel.panic", "10"],
    ["kernel.panic_on_oops", "1"],
    ["kernel.keys.root_maxkeys", "1000000"],
    ["kernel.keys.root_maxbytes", "25000000"],
  ]);
  assert.deepEqual(await settle(settings), []);
  assert.deepEqual(await settle(settings, { protect: true }), []);
});

test("[1.15] protectKernelDefaults writes nothing and fails startup with every wrong setting", async () => {
  const settings = new FakeKernelSettings();
  settings.values.set("kernel.panic", "10");
  const before = await valuesOf(settings);
  await assert.rejects(settle(settings, { protect: true }), {
    message:
      "Failed to start ContainerManager: [invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, invalid kernel flag: kernel/panic_on_oops, expected value: 1, actual value: 0]",
  });
  assert.deepEqual(await valuesOf(settings), before);
});

test("[1.15] a setting that is missing or cannot be written fails startup; the others are written", async () => {
  const settings = new FakeKernelSettings();
  settings.locked.add("kernel.panic");
  await assert.rejects(settle(settings), /ContainerManager: kernel setting kernel\.panic cannot be set to 10: EROFS$/);
  assert.equal(await settings.read("kernel.panic_on_oops"), "1");
  settings.locked.clear();
  settings.values.delete("kernel.panic");
  await assert.rejects(
    settle(settings),
    /ContainerManager: open \/proc\/sys\/kernel\/panic: no such file or directory$/,
  );
});

test("in a user namespace a setting that cannot be written is logged, and startup continues", async () => {
  const settings = new FakeKernelSettings();
  settings.locked.add("kernel.panic");
  const lines = await settle(settings, { inUserNamespace: true });
  assert.match(lines.join("\n"), /running in UserNS, ignoring.*kernel\.panic/);
});

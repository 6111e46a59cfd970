import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeSysctls } from "../../../sim/fake-sysctls.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { KERNEL_TUNABLES } from "../../domain/host/kernel-tunables.ts";
import { applySysctls } from "./sysctls.ts";

const WANTED = KERNEL_TUNABLES.map(({ name, wanted }) => [name, wanted] as const);

async function settle(sysctls: FakeSysctls, more: { protect?: boolean; inUserNamespace?: boolean } = {}) {
  const log = keptLog();
  await applySysctls({ sysctls, log, protect: false, inUserNamespace: false, ...more });
  return log.lines;
}

const valuesOf = async (sysctls: FakeSysctls) =>
  Promise.all(WANTED.map(async ([name]) => [name, await sysctls.read(name)] as const));

test("[1.15] wrong kernel settings are written, correct ones are left alone", async () => {
  const sysctls = new FakeSysctls();
  assert.deepEqual(
    (await settle(sysctls)).map((line) => /"flag":"([^"]+)"/.exec(line)?.[1]),
    ["vm.overcommit_memory", "kernel.panic", "kernel.panic_on_oops"],
  );
  assert.deepEqual(await valuesOf(sysctls), [
    ["vm.overcommit_memory", "1"],
    ["vm.panic_on_oom", "0"],
    ["kernel.panic", "10"],
    ["kernel.panic_on_oops", "1"],
    ["kernel.keys.root_maxkeys", "1000000"],
    ["kernel.keys.root_maxbytes", "25000000"],
  ]);
  assert.deepEqual(await settle(sysctls), []);
  assert.deepEqual(await settle(sysctls, { protect: true }), []);
});

test("[1.15] protectKernelDefaults writes nothing and fails startup with every wrong setting", async () => {
  const sysctls = new FakeSysctls();
  sysctls.values.set("kernel.panic", "10");
  const before = await valuesOf(sysctls);
  await assert.rejects(settle(sysctls, { protect: true }), {
    message:
      "Failed to start ContainerManager: [invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, invalid kernel flag: kernel/panic_on_oops, expected value: 1, actual value: 0]",
  });
  assert.deepEqual(await valuesOf(sysctls), before);
});

test("[1.15] a setting that is missing or cannot be written fails startup; the others are written", async () => {
  const sysctls = new FakeSysctls();
  sysctls.locked.add("kernel.panic");
  await assert.rejects(settle(sysctls), /ContainerManager: kernel setting kernel\.panic cannot be set to 10: EROFS$/);
  assert.equal(await sysctls.read("kernel.panic_on_oops"), "1");
  sysctls.locked.clear();
  sysctls.values.delete("kernel.panic");
  await assert.rejects(
    settle(sysctls),
    /ContainerManager: open \/proc\/sys\/kernel\/panic: no such file or directory$/,
  );
});

test("in a user namespace a setting that cannot be written is logged, and startup continues", async () => {
  const sysctls = new FakeSysctls();
  sysctls.locked.add("kernel.panic");
  const lines = await settle(sysctls, { inUserNamespace: true });
  assert.match(lines.join("\n"), /running in UserNS, ignoring.*kernel\.panic/);
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Machine, qemuCommand, quoted } from "./qemu.ts";

const machine: Machine = { kernel: "/k", initrd: "/i", disk: "/f/disk", folder: "/f", mayReboot: false };
/** What has to be alike for a state to fit. */
const devicesOf = (wanted: Machine) =>
  qemuCommand(wanted).filter((_, index, all) => ["-device", "-M", "-cpu", "-smp", "-m"].includes(all[index - 1] ?? ""));

describe("the command line of a machine", () => {
  test("a resumed one has the devices of the one that was kept, whether it may reboot or not", () => {
    const resumed = { ...machine, folder: "/g", disk: "/g/disk", mayReboot: true, resumeFrom: "/s" };
    assert.deepEqual(devicesOf(resumed), devicesOf(machine));
    assert.ok(devicesOf(machine).length > 5);
  });

  test("one that may not reboot ends instead", () => {
    assert.ok(qemuCommand(machine).includes("-no-reboot"));
    assert.ok(!qemuCommand({ ...machine, mayReboot: true }).includes("-no-reboot"));
  });

  test("paths are taken as they are, by qemu and by the shell it starts", () => {
    const odd = qemuCommand({ ...machine, disk: "/a,b", resumeFrom: "/it's" });
    assert.ok(odd.some((word) => word.endsWith("file=/a,,b")));
    assert.equal(odd.at(-1), `exec:cat '/it'\\''s'`);
    assert.equal(quoted("a b"), "'a b'");
  });
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Machine, qemuCommand, quoted } from "./qemu.ts";

const machine: Machine = { kernel: "/k", initrd: "/i", disk: "/f/disk", directory: "/f", mayReboot: false };
/** The options that must be equal for a saved state to fit. */
const devicesOf = (wanted: Machine) =>
  qemuCommand(wanted).filter((_, index, all) => ["-device", "-M", "-cpu", "-smp", "-m"].includes(all[index - 1] ?? ""));

describe("the command line of a machine", () => {
  test("a resumed machine has the devices of the saved one, whether it may reboot or not", () => {
    const resumed = { ...machine, directory: "/g", disk: "/g/disk", mayReboot: true, resumeFrom: "/s" };
    assert.deepEqual(devicesOf(resumed), devicesOf(machine));
    assert.ok(devicesOf(machine).length > 5);
  });

  test("a machine that may not reboot exits instead", () => {
    assert.ok(qemuCommand(machine).includes("-no-reboot"));
    assert.ok(!qemuCommand({ ...machine, mayReboot: true }).includes("-no-reboot"));
  });

  test("paths are quoted for qemu and for the shell that it starts", () => {
    const odd = qemuCommand({ ...machine, disk: "/a,b", resumeFrom: "/it's" });
    assert.ok(odd.some((word) => word.endsWith("file=/a,,b")));
    assert.equal(odd.at(-1), `exec:cat '/it'\\''s'`);
    assert.equal(quoted("a b"), "'a b'");
  });
});

/**
 * Runs on directories like /proc/sys, and on the real one where nothing is changed: a test must not change the
 * machine's settings.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { kernelSettingsContract } from "../../../test/contract/kernel-settings-contract.ts";
import { createKernelSettings } from "./kernel-settings.ts";

const scratch = mkdtempSync(join(tmpdir(), "deckhand-kernel-"));
after(() => rmSync(scratch, { recursive: true }));
let made = 0;

kernelSettingsContract("a directory like /proc/sys", async () => {
  made += 1;
  const root = join(scratch, String(made));
  mkdirSync(join(root, "vm"), { recursive: true });
  writeFileSync(join(root, "vm/overcommit_memory"), "2\n");
  const settings = createKernelSettings({ root });
  const real = createKernelSettings();
  const isOpen = (name: string) => name.startsWith("vm.");
  return {
    settings: {
      read: (name) => (isOpen(name) ? settings : real).read(name),
      isWritable: (name) => (isOpen(name) ? settings : real).isWritable(name),
      write: (name, value) => (isOpen(name) ? settings : real).write(name, value),
    },
    // The kernel refuses writes to these, even from root.
    names: { open: "vm.overcommit_memory", locked: "kernel.ostype", missing: "vm.no_such" },
  };
});

test("sysctls of this machine are read by name", async () => {
  const real = createKernelSettings();
  assert.equal(await real.read("kernel.ostype"), "Linux");
  assert.match((await real.read("kernel.pid_max")) ?? "", /^\d+$/);
});

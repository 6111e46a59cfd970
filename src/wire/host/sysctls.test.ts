/**
 * Runs on directories like /proc/sys, and on the real one where nothing is changed: a test must not change the
 * machine's sysctls.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { sysctlsContract } from "../../../test/contract/sysctls-contract.ts";
import { createSysctls } from "./sysctls.ts";

const scratch = mkdtempSync(join(tmpdir(), "deckhand-kernel-"));
after(() => rmSync(scratch, { recursive: true }));
let made = 0;

sysctlsContract("a directory like /proc/sys", async () => {
  made += 1;
  const root = join(scratch, String(made));
  mkdirSync(join(root, "vm"), { recursive: true });
  writeFileSync(join(root, "vm/overcommit_memory"), "2\n");
  const sysctls = createSysctls({ root });
  const real = createSysctls();
  const isOpen = (name: string) => name.startsWith("vm.");
  return {
    sysctls: {
      read: (name) => (isOpen(name) ? sysctls : real).read(name),
      isWritable: (name) => (isOpen(name) ? sysctls : real).isWritable(name),
      write: (name, value) => (isOpen(name) ? sysctls : real).write(name, value),
    },
    // The kernel refuses writes to these, even from root.
    names: { open: "vm.overcommit_memory", locked: "kernel.ostype", missing: "vm.no_such" },
  };
});

test("sysctls of this machine are read by name", async () => {
  const real = createSysctls();
  assert.equal(await real.read("kernel.ostype"), "Linux");
  assert.match((await real.read("kernel.pid_max")) ?? "", /^\d+$/);
});

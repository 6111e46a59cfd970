/** Contract suite of the Sysctls port. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Sysctls } from "../../src/ports/sysctls.ts";

export interface SysctlsWorld {
  readonly sysctls: Sysctls;
  /** A writable sysctl, an existing one that is not writable, and a missing one. */
  readonly names: { readonly open: string; readonly locked: string; readonly missing: string };
}

export function sysctlsContract(name: string, begin: () => Promise<SysctlsWorld>): void {
  describe(`${name} keeps the contract of the Sysctls port`, () => {
    test("reads back a written value, trimmed", async () => {
      const { sysctls, names } = await begin();
      assert.match((await sysctls.read(names.open)) ?? "", /^\S+$/);
      for (const value of ["0", "10", "1"]) {
        await sysctls.write(names.open, value);
        assert.equal(await sysctls.read(names.open), value);
      }
      assert.equal(await sysctls.isWritable(names.open), true);
    });

    test("a missing sysctl is undefined, and a write does not create it", async () => {
      const { sysctls, names } = await begin();
      assert.equal(await sysctls.read(names.missing), undefined);
      assert.equal(await sysctls.isWritable(names.missing), false);
      await assert.rejects(sysctls.write(names.missing, "1"), new RegExp(`${names.missing} .* 1: ENOENT`));
      assert.equal(await sysctls.read(names.missing), undefined);
    });

    test("rejects a write to a sysctl that is not writable, and keeps its value", async () => {
      const { sysctls, names } = await begin();
      const before = await sysctls.read(names.locked);
      assert.ok(before !== undefined);
      assert.equal(await sysctls.isWritable(names.locked), false);
      await assert.rejects(sysctls.write(names.locked, "1"), new RegExp(`${names.locked} cannot be set to 1: E`));
      assert.equal(await sysctls.read(names.locked), before);
    });
  });
}

/** Contract suite of the KernelSettings port. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KernelSettings } from "../../src/ports/kernel-settings.ts";

export interface KernelSettingsWorld {
  readonly settings: KernelSettings;
  /** A writable sysctl, an existing one that is not writable, and a missing one. */
  readonly names: { readonly open: string; readonly locked: string; readonly missing: string };
}

export function kernelSettingsContract(name: string, begin: () => Promise<KernelSettingsWorld>): void {
  describe(`${name} keeps the contract of the KernelSettings port`, () => {
    test("reads back a written value, trimmed", async () => {
      const { settings, names } = await begin();
      assert.match((await settings.read(names.open)) ?? "", /^\S+$/);
      for (const value of ["0", "10", "1"]) {
        await settings.write(names.open, value);
        assert.equal(await settings.read(names.open), value);
      }
      assert.equal(await settings.isWritable(names.open), true);
    });

    test("a missing sysctl is undefined, and a write does not create it", async () => {
      const { settings, names } = await begin();
      assert.equal(await settings.read(names.missing), undefined);
      assert.equal(await settings.isWritable(names.missing), false);
      await assert.rejects(settings.write(names.missing, "1"), new RegExp(`${names.missing} .* 1: ENOENT`));
      assert.equal(await settings.read(names.missing), undefined);
    });

    test("rejects a write to a sysctl that is not writable, and keeps its value", async () => {
      const { settings, names } = await begin();
      const before = await settings.read(names.locked);
      assert.ok(before !== undefined);
      assert.equal(await settings.isWritable(names.locked), false);
      await assert.rejects(settings.write(names.locked, "1"), new RegExp(`${names.locked} cannot be set to 1: E`));
      assert.equal(await settings.read(names.locked), before);
    });
  });
}

/** What every holder of kernel settings does. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KernelSettings } from "../../src/ports/kernel-settings.ts";

export interface KernelSettingsWorld {
  readonly settings: KernelSettings;
  /** One that is there, one that is there and may not be written, and one that is not. */
  readonly names: { readonly open: string; readonly locked: string; readonly missing: string };
}

export function kernelSettingsContract(name: string, begin: () => Promise<KernelSettingsWorld>): void {
  describe(`${name} keeps the contract of the KernelSettings port`, () => {
    test("what was written is read, without the space around it", async () => {
      const { settings, names } = await begin();
      assert.match((await settings.read(names.open)) ?? "", /^\S+$/);
      for (const value of ["0", "10", "1"]) {
        await settings.write(names.open, value);
        assert.equal(await settings.read(names.open), value);
      }
      assert.equal(await settings.isWritable(names.open), true);
    });

    test("what is not there is undefined, and is not made by writing to it", async () => {
      const { settings, names } = await begin();
      assert.equal(await settings.read(names.missing), undefined);
      assert.equal(await settings.isWritable(names.missing), false);
      await assert.rejects(settings.write(names.missing, "1"), new RegExp(`${names.missing} .* 1: ENOENT`));
      assert.equal(await settings.read(names.missing), undefined);
    });

    test("one that may not be written says so, and stays", async () => {
      const { settings, names } = await begin();
      const before = await settings.read(names.locked);
      assert.ok(before !== undefined);
      assert.equal(await settings.isWritable(names.locked), false);
      await assert.rejects(settings.write(names.locked, "1"), new RegExp(`${names.locked} cannot be set to 1: E`));
      assert.equal(await settings.read(names.locked), before);
    });
  });
}

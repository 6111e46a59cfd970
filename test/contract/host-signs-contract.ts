/** Contract suite of the HostSigns port, through which `doctor` inspects a host. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HostSigns } from "../../src/ports/host-signs.ts";

export interface HostSignsWorld {
  readonly signs: HostSigns;
  /** An existing directory whose only entry is the file "a" with the content "text". */
  readonly directory: string;
  /** A port on which a process listens, at 127.0.0.1. */
  readonly port: number;
  /** A program that exists. */
  readonly program: string;
}

export function hostSignsContract(name: string, begin: () => Promise<HostSignsWorld>): void {
  describe(`${name} keeps the contract of the HostSigns port`, () => {
    test("reads and lists files, and rejects a missing file with ENOENT", async () => {
      const { signs, directory } = await begin();
      assert.equal(await signs.text(`${directory}/a`), "text");
      assert.deepEqual(await signs.names(directory), ["a"]);
      assert.deepEqual(await signs.names(`${directory}/none`), []);
      await assert.rejects(signs.text(`${directory}/none`), /ENOENT/);
      await signs.requireReadable(`${directory}/a`);
      await assert.rejects(signs.requireReadable(`${directory}/none`), /ENOENT/);
    });

    test("finds the nearest existing path, and that its directory is writable", async () => {
      const { signs, directory } = await begin();
      assert.equal(await signs.nearest(`${directory}/a`), `${directory}/a`);
      assert.equal(await signs.nearest(`${directory}/b/c`), directory);
      assert.equal(await signs.writeTrouble(directory), undefined);
    });

    test("lists the listeners of the given ports only, with their processes", async () => {
      const { signs, port } = await begin();
      const found = await signs.listeners([port, 1]);
      assert.deepEqual(
        found.map(({ address }) => address),
        ["127.0.0.1"],
      );
      assert.deepEqual(await signs.listeners([]), []);
      assert.ok((found[0]?.process?.pid ?? 0) > 0 && found[0]?.process?.command !== "");
    });

    test("finds programs, file systems, cgroups, swap devices and kubelets", async () => {
      const { signs, program } = await begin();
      assert.deepEqual(
        [await signs.hasProgram(program), await signs.hasProgram("no-such-program-here")],
        [true, false],
      );
      assert.ok((await signs.fileSystems()).includes("proc"));
      const tree = await signs.cgroupTree();
      assert.ok(tree === undefined || tree.controllers.includes("memory"));
      for (const device of await signs.swapDevices()) assert.notEqual(device, "");
      assert.equal(typeof (await signs.isRunBySystemd()), "boolean");
      for (const { pid, command } of await signs.agents("/no/such/lock")) assert.ok(pid > 0 && command !== "");
    });
  });
}

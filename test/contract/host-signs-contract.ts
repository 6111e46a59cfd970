/** What every host lets doctor see. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HostSigns } from "../../src/ports/host-signs.ts";

export interface HostSignsWorld {
  readonly signs: HostSigns;
  /** A folder that is there with one file "a" in it, which holds "text". */
  readonly folder: string;
  /** A port that somebody listens on, at 127.0.0.1. */
  readonly port: number;
  /** A program that is there. */
  readonly program: string;
}

export function hostSignsContract(name: string, begin: () => Promise<HostSignsWorld>): void {
  describe(`${name} keeps the contract of the HostSigns port`, () => {
    test("files are read and listed, and what is not there is said to be so", async () => {
      const { signs, folder } = await begin();
      assert.equal(await signs.text(`${folder}/a`), "text");
      assert.deepEqual(await signs.names(folder), ["a"]);
      assert.deepEqual(await signs.names(`${folder}/none`), []);
      await assert.rejects(signs.text(`${folder}/none`), /ENOENT/);
      await signs.requireReadable(`${folder}/a`);
      await assert.rejects(signs.requireReadable(`${folder}/none`), /ENOENT/);
    });

    test("the nearest folder above what is not there, which can be written to", async () => {
      const { signs, folder } = await begin();
      assert.equal(await signs.nearest(`${folder}/a`), `${folder}/a`);
      assert.equal(await signs.nearest(`${folder}/b/c`), folder);
      assert.equal(await signs.writeTrouble(folder), undefined);
    });

    test("who listens on a port, with its process, and on no other", async () => {
      const { signs, port } = await begin();
      const found = await signs.listeners([port, 1]);
      assert.deepEqual(
        found.map(({ address }) => address),
        ["127.0.0.1"],
      );
      assert.deepEqual(await signs.listeners([]), []);
      assert.ok((found[0]?.process?.pid ?? 0) > 0 && found[0]?.process?.command !== "");
    });

    test("programs, file systems, control groups and swap", async () => {
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

/** Contract suite of the HostInspector port, through which `doctor` inspects a host. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HostInspector } from "../../src/ports/host-inspector.ts";

export interface HostInspectorWorld {
  readonly inspector: HostInspector;
  /** An existing directory whose only entry is the file "a" with the content "text". */
  readonly directory: string;
  /** A port on which a process listens, at 127.0.0.1. */
  readonly port: number;
  /** A program that exists. */
  readonly program: string;
}

export function hostInspectorContract(name: string, begin: () => Promise<HostInspectorWorld>): void {
  describe(`${name} keeps the contract of the HostInspector port`, () => {
    test("reads and lists files, and rejects a missing file with ENOENT", async () => {
      const { inspector, directory } = await begin();
      assert.equal(await inspector.text(`${directory}/a`), "text");
      assert.deepEqual(await inspector.names(directory), ["a"]);
      assert.deepEqual(await inspector.names(`${directory}/none`), []);
      await assert.rejects(inspector.text(`${directory}/none`), /ENOENT/);
      await inspector.requireReadable(`${directory}/a`);
      await assert.rejects(inspector.requireReadable(`${directory}/none`), /ENOENT/);
    });

    test("finds the nearest existing path, and that its directory is writable", async () => {
      const { inspector, directory } = await begin();
      assert.equal(await inspector.nearest(`${directory}/a`), `${directory}/a`);
      assert.equal(await inspector.nearest(`${directory}/b/c`), directory);
      assert.equal(await inspector.writeTrouble(directory), undefined);
    });

    test("lists the listeners of the given ports only, with their processes", async () => {
      const { inspector, port } = await begin();
      const found = await inspector.listeners([port, 1]);
      assert.deepEqual(
        found.map(({ address }) => address),
        ["127.0.0.1"],
      );
      assert.deepEqual(await inspector.listeners([]), []);
      assert.ok((found[0]?.process?.pid ?? 0) > 0 && found[0]?.process?.command !== "");
    });

    test("finds programs, file systems, cgroups, swap devices and kubelets", async () => {
      const { inspector, program } = await begin();
      assert.deepEqual(
        [await inspector.hasProgram(program), await inspector.hasProgram("no-such-program-here")],
        [true, false],
      );
      assert.ok((await inspector.fileSystems()).includes("proc"));
      const tree = await inspector.cgroupTree();
      assert.ok(tree === undefined || tree.controllers.includes("memory"));
      for (const device of await inspector.swapDevices()) assert.notEqual(device, "");
      assert.equal(typeof (await inspector.isRunBySystemd()), "boolean");
      for (const { pid, command } of await inspector.agents("/no/such/lock")) assert.ok(pid > 0 && command !== "");
    });
  });
}

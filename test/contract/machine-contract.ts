/** Contract suite of the Machine port: its values are plausible and consistent. */
import assert from "node:assert/strict";
import { isIPv4, isIPv6 } from "node:net";
import { describe, test } from "node:test";
import type { Machine } from "../../src/ports/machine.ts";

export interface MachineWorld {
  readonly machine: Machine;
  /** Existing paths, the second below the first and on the same file system. */
  readonly paths: readonly [string, string];
  /** A name that resolves, and one that does not. */
  readonly names: { readonly known: string; readonly unknown: string };
}

export function machineContract(name: string, begin: () => MachineWorld): void {
  describe(`${name} keeps the contract of the Machine port`, () => {
    test("facts are complete, and the same on the next call", async () => {
      const { machine } = begin();
      const facts = await machine.facts();
      assert.ok(Number.isInteger(facts.cpus) && facts.cpus >= 1, `${facts.cpus} CPUs`);
      assert.ok(facts.physicalCores <= facts.cpus && facts.sockets <= facts.physicalCores);
      assert.ok(facts.memoryBytes > 64n * 1024n ** 2n && facts.swapBytes >= 0n);
      assert.ok(facts.pidsMax > 100 && Number.isInteger(facts.pidsMax));
      for (const [pageBytes, bytes] of facts.hugepages) assert.ok(pageBytes >= 4096n && bytes % pageBytes === 0n);
      assert.match(facts.bootId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      for (const text of [facts.kernelVersion, facts.osImage, facts.hostname, facts.machineId, facts.systemUuid]) {
        assert.ok(text !== "" && text === text.trim(), JSON.stringify(text));
      }
      assert.deepEqual(await machine.facts(), facts);
    });

    test("memory working set and process count are above zero and below their maximum", async () => {
      const { machine } = begin();
      const { memoryBytes, pidsMax } = await machine.facts();
      const workingSet = await machine.memoryWorkingSetBytes();
      assert.ok(workingSet > 0n && workingSet < memoryBytes, String(workingSet));
      const available = await machine.memoryAvailableBytes();
      assert.ok(available > 0n && available < memoryBytes, String(available));
      const processes = await machine.processCount();
      assert.ok(processes > 1 && processes < pidsMax, String(processes));
    });

    test("a file system's available space is within its capacity, and two of its paths name the same device", async () => {
      const { machine, paths } = begin();
      const [above, below] = await Promise.all(paths.map((path) => machine.filesystem(path)));
      assert.ok(above !== undefined && above.capacityBytes > 0n && above.availableBytes <= above.capacityBytes);
      assert.ok(above.inodesFree <= above.inodes);
      assert.equal(below?.device, above.device);
    });

    test("the default route's address is one of the machine's addresses", async () => {
      const { machine } = begin();
      const addresses = await machine.addresses();
      for (const { address, family } of addresses) assert.ok(family === "IPv4" ? isIPv4(address) : isIPv6(address));
      for (const family of ["IPv4", "IPv6"] as const) {
        const address = await machine.defaultRouteAddress(family);
        const known = addresses.filter((each) => each.family === family).map((each) => each.address);
        assert.ok(address === undefined || known.includes(address), `${address} is none of them`);
      }
    });

    test("lookup resolves a name, returns nothing for an unknown one, and rejects on abort", async () => {
      const { machine, names } = begin();
      const patient = new AbortController().signal;
      assert.ok((await machine.lookup(names.known, patient)).length > 0);
      assert.deepEqual(await machine.lookup(names.unknown, patient), []);
      await assert.rejects(machine.lookup(names.known, AbortSignal.abort(new Error("enough"))), /enough/);
    });
  });
}

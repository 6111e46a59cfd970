/** The Machine port of a machine that a scenario configures and changes. */
import { raceAbort } from "../src/concurrency/abort.ts";
import type { FilesystemFacts, InterfaceAddress, Machine, MachineFacts } from "../src/ports/machine.ts";
import { totalUse, type Use } from "./fake-runtime/behaviour.ts";

const GIB = 1024n ** 3n;

const wholeDisk: FilesystemFacts = {
  device: "1",
  capacityBytes: 100n * GIB,
  availableBytes: 80n * GIB,
  inodes: 6_000_000n,
  inodesFree: 5_900_000n,
};

export class FakeMachine implements Machine {
  machine: MachineFacts;
  /** Without that of the containers. */
  workingSetBytes = 2n * GIB;
  /** Without the children of containers' processes. */
  processes = 200;
  /** What the containers use. */
  use: () => Use = () => totalUse([]);
  /** By mount point. For a path, the longest mount point above it counts. */
  readonly filesystems = new Map<string, FilesystemFacts>([["/", wholeDisk]]);
  interfaces: readonly InterfaceAddress[] = [
    { interfaceName: "lo", address: "127.0.0.1", family: "IPv4" },
    { interfaceName: "eth0", address: "198.18.255.10", family: "IPv4" },
  ];
  /** The interface of the default route. */
  defaultInterface: string | undefined = "eth0";
  /** Addresses by name. */
  readonly names = new Map<string, readonly string[]>();

  constructor(hostname: string, facts: Partial<MachineFacts> = {}) {
    this.machine = {
      cpus: 4,
      onlineCpus: "0-3",
      physicalCores: 2,
      sockets: 1,
      memoryBytes: 8n * GIB,
      swapBytes: 0n,
      hugepages: new Map([
        [2n * 1024n ** 2n, 0n],
        [GIB, 0n],
      ]),
      machineId: "5d1a6e9cbb5e4b0f8a52f6b3a4b7c8d9",
      systemUuid: "b3f1c8f2-0c0e-4f0e-9d2f-6a1f8e7d6c5b",
      bootId: "0e9a4c1e-7d3b-4b52-8f66-2b1f0c9d8e7a",
      kernelVersion: "6.12.0-sim",
      osImage: "Deckhand Simulator",
      hostname,
      pidsMax: 32_768,
      selinux: false,
      apparmor: false,
      ...facts,
    };
  }

  async facts(): Promise<MachineFacts> {
    return this.machine;
  }

  /** The subordinate ID range that the operator assigns to pods with user namespaces. */
  givenIds: { readonly first: number; readonly length: number } | undefined;

  async subordinateIds(): Promise<{ readonly first: number; readonly length: number } | undefined> {
    return this.givenIds;
  }

  async thermalPaths(): Promise<readonly string[]> {
    return ["/sys/devices/system/cpu/cpu0/thermal_throttle"];
  }

  async memoryAvailableBytes(): Promise<bigint> {
    return this.machine.memoryBytes - (await this.memoryWorkingSetBytes());
  }

  async memoryWorkingSetBytes(): Promise<bigint> {
    return this.workingSetBytes + BigInt(this.use().memoryBytes);
  }

  async processCount(): Promise<number> {
    return this.processes + this.use().children;
  }

  async filesystem(path: string): Promise<FilesystemFacts> {
    const isBelow = (mount: string) => mount === "/" || path === mount || path.startsWith(`${mount}/`);
    const mounts = [...this.filesystems.keys()].filter(isBelow).sort((a, b) => b.length - a.length);
    const found = this.filesystems.get(mounts[0] ?? "");
    if (found === undefined) throw new Error(`${path} is on no file system`);
    return found;
  }

  async addresses(): Promise<readonly InterfaceAddress[]> {
    return this.interfaces;
  }

  async defaultRouteAddress(family: InterfaceAddress["family"]): Promise<string | undefined> {
    return this.interfaces.find((each) => each.interfaceName === this.defaultInterface && each.family === family)
      ?.address;
  }

  lookup(name: string, signal: AbortSignal): Promise<readonly string[]> {
    return raceAbort(Promise.resolve(this.names.get(name) ?? []), signal);
  }
}

/**
 * The addresses of this machine's interfaces, queried from the kernel only when its tables show that an address came or
 * went. The query waits for a lock that network plugins hold while they set up pods, and Node has no form of it that
 * does not block the process: in a burst of pods it took seconds. The tables can be read at any time.
 */
import { networkInterfaces } from "node:os";
import type { InterfaceAddress } from "../../ports/machine.ts";
import type { KernelFiles } from "./kernel-files.ts";

export class Interfaces {
  readonly #files: KernelFiles;
  readonly #ask: () => readonly InterfaceAddress[];
  #known: { readonly tables: string; readonly addresses: readonly InterfaceAddress[] } | undefined;

  constructor(files: KernelFiles, ask: () => readonly InterfaceAddress[] = askKernel) {
    this.#files = files;
    this.#ask = ask;
  }

  async read(): Promise<readonly InterfaceAddress[]> {
    // Read before the query: a change in between shows at the next read.
    const tables = await this.#tables();
    if (tables === undefined) return this.#ask();
    if (this.#known?.tables !== tables) this.#known = { tables, addresses: this.#ask() };
    return this.#known.addresses;
  }

  /** Undefined if the tables do not exist. */
  async #tables(): Promise<string | undefined> {
    const v4 = await this.#files.readFirst("/proc/net/fib_trie");
    if (v4 === undefined) return undefined;
    const v6 = (await this.#files.readFirst("/proc/net/if_inet6")) ?? "";
    const local = new Set([...v4.matchAll(/\|-- (\S+)\n\s+\/32 host LOCAL/g)].map(([, address = ""]) => address));
    // Every pod's link has a link-local address, and such an address is never the node's.
    const global = v6.split("\n").filter((line) => line !== "" && !line.startsWith("fe80"));
    return [...local, ...global].sort().join("\n");
  }
}

const askKernel = (): readonly InterfaceAddress[] =>
  Object.entries(networkInterfaces()).flatMap(([interfaceName, addresses = []]) =>
    addresses.map(({ address, family }) => ({ interfaceName, address, family })),
  );

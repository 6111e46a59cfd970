/** The real machine as a node in a box sees it: its own address, its own /var/lib, and the rest shared. */
import { join } from "node:path";
import type { Machine } from "../../src/ports/machine.ts";
import { createMachine } from "../../src/wire/proc-stats/machine.ts";
import type { NodeLayout } from "../cluster/layout.ts";

export function boxedMachine({ address, folder }: NodeLayout): Machine {
  const machine = createMachine({ interfaces: () => [{ interfaceName: "eth0", address, family: "IPv4" }] });
  return {
    ...machine,
    filesystem: (path) => machine.filesystem(path.replace(/^\/var\/lib\//, `${join(folder, "lib")}/`)),
  };
}

/**
 * Contract suite of the Runtime port, for real runtimes and fakes. Surprising error codes are containerd's: if a fake
 * returned better ones, callers could rely on codes that no real runtime returns.
 */
import { after, before, describe } from "node:test";
import { commandContract } from "./runtime-commands.ts";
import { containerContract } from "./runtime-containers.ts";
import { eventContract } from "./runtime-events.ts";
import { faultContract } from "./runtime-faults.ts";
import { sandboxContract } from "./runtime-sandboxes.ts";
import { selfContract } from "./runtime-self.ts";
import { statsContract } from "./runtime-stats.ts";
import type { RuntimeWorld } from "./runtime-world.ts";

export function runtimeContract(name: string, begin: () => Promise<RuntimeWorld>): void {
  describe(`${name} keeps the contract of the Runtime port`, () => {
    let world: RuntimeWorld | undefined;
    before(async () => {
      world = await begin();
    });
    after(() => world?.end());
    const current = () => {
      if (world === undefined) throw new Error("the world has not begun");
      return world;
    };
    selfContract(current);
    sandboxContract(current);
    containerContract(current);
    commandContract(current);
    statsContract(current);
    eventContract(current);
    faultContract(current);
  });
}

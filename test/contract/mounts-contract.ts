/** Contract suite of the Mounts port. Each test has its own empty directory. */
import { afterEach, beforeEach, describe } from "node:test";
import { deadMounts } from "./mounts/dead.ts";
import { disks } from "./mounts/disks.ts";
import { mounting } from "./mounts/mounting.ts";
import type { MountsWorld } from "./mounts/mounts-world.ts";
import { toolsOf } from "./mounts/mounts-world.ts";
import { subPaths } from "./mounts/sub-paths.ts";
import { trees } from "./mounts/trees.ts";

export function mountsContract(name: string, begin: () => Promise<MountsWorld>): void {
  describe(`${name} keeps the contract of the Mounts port`, () => {
    let begun: MountsWorld | undefined;
    beforeEach(async () => {
      begun = await begin();
    });
    afterEach(() => begun?.end());
    const given = () => {
      if (begun === undefined) throw new Error("the world has not begun");
      return toolsOf(begun);
    };
    mounting(given);
    subPaths(given);
    trees(given);
    disks(given);
    deadMounts(given);
  });
}

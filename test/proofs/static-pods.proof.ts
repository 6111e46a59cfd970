/**
 * The manifest directory of the static-pods suite at whole size: a hundred edits, and five hundred files that are not
 * manifests.
 */
import { after, before, describe } from "node:test";
import { manifestDirectory } from "../integration/static-pods/manifest-directory.ts";
import { StaticWorld } from "../support/static-world.ts";

describe("a manifest directory", () => {
  let world: StaticWorld;

  before(async () => {
    world = await StaticWorld.start();
  });

  after(() => world.down());

  manifestDirectory(() => world, { edits: 100, garbage: 500 });
});

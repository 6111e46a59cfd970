/** Checks that each listed bug of the pod lifecycle is shown somewhere. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { knownBugs } from "../sim/scenarios/known-bugs.ts";
import { inRepository } from "./repository.ts";

/** The other bugs of the list are about volumes, checkpoints and leaks. */
const WANTED = [...Array.from({ length: 32 }, (_, index) => index + 1), 39, 42, 45, 46, 47];
/** Bugs that the simulator cannot show, because they need ports and connections of a real kernel. */
const ON_REAL_PARTS: ReadonlyMap<number, string> = new Map([[29, "test/integration/probe-network.test.ts"]]);

test("each listed bug is played in the simulator once, or shown on real parts", () => {
  const shown = [...knownBugs.map(({ bug }) => bug), ...ON_REAL_PARTS.keys()];
  assert.deepEqual(
    shown.toSorted((a, b) => a - b),
    WANTED,
  );
  for (const path of ON_REAL_PARTS.values()) assert.ok(existsSync(inRepository(path)), path);
});

/** Where each bug of the list is shown that the life of pods has to do with. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { knownBugs } from "../sim/scenarios/known-bugs.ts";
import { inRepository } from "./repository.ts";

/** The others of the list are about volumes, checkpoints and leaks. */
const WANTED = [...Array.from({ length: 32 }, (_, index) => index + 1), 39, 42, 45, 46, 47];
/** What the simulator cannot show: ports and connections of a real kernel. */
const ON_REAL_PARTS: ReadonlyMap<number, string> = new Map([[29, "test/integration/probe-network.test.ts"]]);

test("each bug of the list is played in the simulator, once, or shown on real parts", () => {
  const shown = [...knownBugs.map(({ bug }) => bug), ...ON_REAL_PARTS.keys()];
  assert.deepEqual(
    shown.toSorted((a, b) => a - b),
    WANTED,
  );
  for (const path of ON_REAL_PARTS.values()) assert.ok(existsSync(inRepository(path)), path);
});

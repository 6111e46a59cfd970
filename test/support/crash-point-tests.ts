/**
 * Tests that play scenarios with the agent killed at every port call, before and after the call's effect. Small size:
 * at every 173rd call.
 */
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { before, describe, test } from "node:test";
import { type Area, areas, crashPointsOfArea } from "../../sim/scenarios/all-crash-points.ts";
import { describeFailure, type Enumeration } from "../../sim/scenarios/crash-points.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";
import { inWorkerThread } from "./worker-thread.ts";

/** The small size runs beside other tests. */
const threads = [...Array(wholeSize() ? availableParallelism() : 1).keys()];
const MODULE = new URL("../../sim/scenarios/all-crash-points.ts", import.meta.url);

export function crashPointTests(area: Area): void {
  describe(`killed at any call, ${area}`, () => {
    let found: ReadonlyMap<string, Enumeration> = new Map();
    before(async () => {
      const stride = wholeSize() ? 1 : 173;
      const shares = threads.map((first) => ({ area, stride, share: { first, of: threads.length } }));
      const parts = await Promise.all(shares.map((share) => inWorkerThread(MODULE, crashPointsOfArea, share)));
      found = new Map(parts.flatMap((part) => [...part]));
    });
    for (const { name } of areas[area]) {
      test(`${name}: an agent killed at any call breaks no rule, and the node converges`, () => {
        const { points, failures } = found.get(name) ?? { points: 0, failures: [] };
        figure(`${name}: crash points`, points, "points");
        figure(`${name}: violations`, failures.length, "points");
        assert.ok(points > 0);
        assert.equal(failures.length, 0, failures.slice(0, 3).map(describeFailure).join("\n"));
      });
    }
  });
}

/** Contract suite of the Random port, for the machine's implementation and the simulator's. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Random } from "../../src/ports/random.ts";

const DRAWS = 10_000;

export function randomContract(name: string, make: () => Random): void {
  describe(`${name} keeps the Random contract`, () => {
    test("a fraction is at least 0 and below 1, and spreads over the whole range", () => {
      const random = make();
      const tenths = Array.from({ length: 10 }, () => 0);
      for (let i = 0; i < DRAWS; i += 1) {
        const fraction = random.fraction();
        assert.ok(fraction >= 0 && fraction < 1, String(fraction));
        const tenth = Math.floor(fraction * 10);
        tenths[tenth] = (tenths[tenth] ?? 0) + 1;
      }
      // A fair source leaves this range less than once in 10^9 runs (over six standard deviations).
      for (const count of tenths) assert.ok(count > 800 && count < 1200, tenths.join(" "));
    });

    test("UUIDs are of version 4 and unique", () => {
      const random = make();
      const uuids = Array.from({ length: DRAWS }, () => random.uuid());
      for (const uuid of uuids)
        assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.equal(new Set(uuids).size, DRAWS);
    });
  });
}

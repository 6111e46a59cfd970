/** The Random port on node:crypto. */
import { randomInt, randomUUID } from "node:crypto";
import type { Random } from "../../ports/random.ts";

const STEPS = 2 ** 47;

export const hostRandom: Random = {
  fraction: () => randomInt(STEPS) / STEPS,
  uuid: () => randomUUID(),
};

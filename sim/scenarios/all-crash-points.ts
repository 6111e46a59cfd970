/** Every scenario there is, with the agent killed at its calls. */
import { canonical } from "./canonical.ts";
import { type Enumeration, enumerateCrashPoints } from "./crash-points.ts";
import { knownBugs } from "./known-bugs.ts";
import type { Scenario } from "./scenario.ts";
import { withAdmission } from "./with-admission.ts";
import { withProbes } from "./with-probes.ts";
import { withResizes } from "./with-resizes.ts";
import { withRoles } from "./with-roles.ts";
import { withStuckEnds } from "./with-stuck-ends.ts";
import { withVolumes } from "./with-volumes.ts";

export const scenarios = [
  ...canonical,
  ...withVolumes,
  ...withRoles,
  ...withProbes,
  ...withAdmission,
  ...withStuckEnds,
  ...withResizes,
];

/** By the scenario's name. */
export const allCrashPoints = (every: Every): Promise<Enumerations> => crashPointsOf(scenarios, every);

/** Of the bugs that kubelets have had. */
export const knownBugCrashPoints = (every: Every): Promise<Enumerations> => crashPointsOf(knownBugs, every);

interface Every {
  /** Every so many calls. */
  readonly stride: number;
  /** From this one on. */
  readonly from?: number;
  /** Of the scenarios only one in so many, beginning with this one: for one of several threads. */
  readonly share?: { readonly first: number; readonly of: number };
}

type Enumerations = ReadonlyMap<string, Enumeration>;

async function crashPointsOf(list: readonly Scenario[], every: Every): Promise<Enumerations> {
  const { first, of } = every.share ?? { first: 0, of: 1 };
  const found = new Map<string, Enumeration>();
  for (const scenario of list.filter((_, index) => index % of === first))
    found.set(scenario.name, await enumerateCrashPoints(scenario, every));
  return found;
}

/** Plays every scenario with the agent killed at its calls. */
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

/** Results by the scenario's name. */
export const allCrashPoints = (every: Every): Promise<Enumerations> => crashPointsOf(scenarios, every);

/** The same for the scenarios of known kubelet bugs. */
export const knownBugCrashPoints = (every: Every): Promise<Enumerations> => crashPointsOf(knownBugs, every);

interface Every {
  /** Kills at every `stride`-th call. */
  readonly stride: number;
  /** The first call to kill at. */
  readonly from?: number;
  /** Plays only every `of`-th scenario, beginning with `first`: for one of several threads. */
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

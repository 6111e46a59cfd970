/** Plays every scenario with the agent killed at its calls. */
import { canonical } from "./canonical.ts";
import { type Enumeration, enumerateCrashPoints } from "./crash-points.ts";
import { knownBugs } from "./known-bugs.ts";
import type { Scenario } from "./scenario.ts";
import { withAdmission } from "./with-admission.ts";
import { withEviction } from "./with-eviction.ts";
import { withImageGc } from "./with-image-gc.ts";
import { withProbes } from "./with-probes.ts";
import { withResizes } from "./with-resizes.ts";
import { withRoles } from "./with-roles.ts";
import { withStuckEnds } from "./with-stuck-ends.ts";
import { withVolumes } from "./with-volumes.ts";

/** The scenarios by what they are about. */
export const areas = {
  canonical,
  volumes: withVolumes,
  roles: withRoles,
  probes: withProbes,
  admission: withAdmission,
  terminations: withStuckEnds,
  resizes: withResizes,
  images: withImageGc,
  eviction: withEviction,
} as const satisfies Readonly<Record<string, readonly Scenario[]>>;

export type Area = keyof typeof areas;

export const scenarios: readonly Scenario[] = Object.values(areas).flat();

/** Results by the scenario's name. */
export const crashPointsOfArea = ({ area, ...every }: Every & { readonly area: Area }): Promise<Enumerations> =>
  crashPointsOf(areas[area], every);

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

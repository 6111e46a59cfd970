/** Every mutant, by area. The gate checks that each still applies; `npm run proof -- mutants` runs them. */
import { ADMISSION } from "./areas/admission.ts";
import { API_ANSWERS } from "./areas/api-answers.ts";
import { CGROUPS } from "./areas/cgroups.ts";
import { ENVIRONMENT } from "./areas/environment.ts";
import { PROBES } from "./areas/probes.ts";
import { RESIZE } from "./areas/resize.ts";
import { RESTART_POLICY } from "./areas/restart-policy.ts";
import { STATUS } from "./areas/status.ts";
import { VOLUMES } from "./areas/volumes.ts";
import type { MutantArea } from "./mutant.ts";

export const MUTANT_AREAS: readonly MutantArea[] = [
  ADMISSION,
  RESTART_POLICY,
  PROBES,
  VOLUMES,
  ENVIRONMENT,
  STATUS,
  RESIZE,
  CGROUPS,
  API_ANSWERS,
];

/** All pods of this suite, by their names. */
import { selectedByName } from "../../golden/selected-cases.ts";
import type { Cases } from "./case.ts";
import { HOOKS } from "./cases/hooks.ts";
import { RULES } from "./cases/rules.ts";
import { SETTING_UP } from "./cases/setting-up.ts";
import { SIDECARS } from "./cases/sidecars.ts";
import { WHOLE_LIVES } from "./cases/whole-lives.ts";

export const CASES: Cases = selectedByName({ ...SETTING_UP, ...SIDECARS, ...HOOKS, ...RULES, ...WHOLE_LIVES });

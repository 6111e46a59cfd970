import { CGROUPS } from "../../mutants/areas/cgroups.ts";
import { proveArea } from "../../mutants/prove-area.ts";

proveArea(CGROUPS);

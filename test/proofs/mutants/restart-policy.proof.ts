import { RESTART_POLICY } from "../../mutants/areas/restart-policy.ts";
import { proveArea } from "../../mutants/prove-area.ts";

proveArea(RESTART_POLICY);

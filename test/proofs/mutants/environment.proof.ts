import { ENVIRONMENT } from "../../mutants/areas/environment.ts";
import { proveArea } from "../../mutants/prove-area.ts";

proveArea(ENVIRONMENT);

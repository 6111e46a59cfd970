import { STATUS } from "../../mutants/areas/status.ts";
import { proveArea } from "../../mutants/prove-area.ts";

proveArea(STATUS);

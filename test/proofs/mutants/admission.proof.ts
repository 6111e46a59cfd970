import { ADMISSION } from "../../mutants/areas/admission.ts";
import { proveArea } from "../../mutants/prove-area.ts";

proveArea(ADMISSION);

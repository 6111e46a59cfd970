import { RESIZE } from "../../mutants/areas/resize.ts";
import { proveArea } from "../../mutants/prove-area.ts";

proveArea(RESIZE);

import { PROBES } from "../../mutants/areas/probes.ts";
import { proveArea } from "../../mutants/prove-area.ts";

proveArea(PROBES);

import { VOLUMES } from "../../mutants/areas/volumes.ts";
import { proveArea } from "../../mutants/prove-area.ts";

proveArea(VOLUMES);

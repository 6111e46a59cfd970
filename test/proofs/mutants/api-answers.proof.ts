import { API_ANSWERS } from "../../mutants/areas/api-answers.ts";
import { proveArea } from "../../mutants/prove-area.ts";

proveArea(API_ANSWERS);

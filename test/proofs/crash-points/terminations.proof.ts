/** Kills the agent at every port call of scenarios of terminations that are blocked. */
import { crashPointTests } from "../../support/crash-point-tests.ts";

crashPointTests("terminations");

/** Kills the agent at every port call of scenarios of resizes. */
import { crashPointTests } from "../../support/crash-point-tests.ts";

crashPointTests("resizes");

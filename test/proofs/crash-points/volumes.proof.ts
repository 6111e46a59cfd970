/** Kills the agent at every port call of scenarios with volumes. */
import { crashPointTests } from "../../support/crash-point-tests.ts";

crashPointTests("volumes");

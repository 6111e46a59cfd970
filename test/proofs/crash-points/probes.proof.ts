/** Kills the agent at every port call of scenarios with probes. */
import { crashPointTests } from "../../support/crash-point-tests.ts";

crashPointTests("probes");

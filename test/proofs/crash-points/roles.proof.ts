/** Kills the agent at every port call of scenarios with init containers, sidecars and hooks. */
import { crashPointTests } from "../../support/crash-point-tests.ts";

crashPointTests("roles");

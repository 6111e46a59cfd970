/** Kills the agent at every port call of the canonical scenarios. */
import { crashPointTests } from "../../support/crash-point-tests.ts";

crashPointTests("canonical");

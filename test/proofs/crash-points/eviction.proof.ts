/** Kills the agent at every port call of scenarios of eviction and of the limits of dead containers. */
import { crashPointTests } from "../../support/crash-point-tests.ts";

crashPointTests("eviction");

/** Kills the agent at every port call of scenarios of admission and preemption. */
import { crashPointTests } from "../../support/crash-point-tests.ts";

crashPointTests("admission");

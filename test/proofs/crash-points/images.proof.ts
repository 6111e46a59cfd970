/** Kills the agent at every port call of scenarios of the removal of images. */
import { crashPointTests } from "../../support/crash-point-tests.ts";

crashPointTests("images");

/**
 * Dead mounts, a volume of many files, and names that change while they are inspected: on the real kernel, in a private
 * mount namespace.
 */
import { fileURLToPath } from "node:url";
import { inPrivateMounts } from "../support/private-mounts.ts";

if (inPrivateMounts(fileURLToPath(import.meta.url))) await import("../integration/mounts/hostile.ts");

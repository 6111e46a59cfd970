/** The Mounts port on the real kernel, in its own mount namespace. */
import { fileURLToPath } from "node:url";
import { inPrivateMounts } from "../support/private-mounts.ts";

if (inPrivateMounts(fileURLToPath(import.meta.url))) await import("./mounts/inside.ts");

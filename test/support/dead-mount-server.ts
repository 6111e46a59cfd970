/** A process that mounts what never answers at the paths it is given, and is its server until it is ended. Run inside a node's namespaces. */
import { mountDead } from "./dead-mounts.ts";

for (const path of process.argv.slice(2)) mountDead(path, "deaf");
process.stdout.write("mounted\n");
setInterval(() => {}, 1_000);

/**
 * A process that mounts unresponsive file systems at the given paths and serves them until it is killed. Runs inside a
 * node's namespaces.
 */
import { mountDead } from "./dead-mounts.ts";

for (const path of process.argv.slice(2)) mountDead(path, "deaf");
process.stdout.write("mounted\n");
setInterval(() => {}, 1_000);

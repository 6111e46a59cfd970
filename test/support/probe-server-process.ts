/** The servers of `probe-servers.ts` in a process of their own, for whoever wants to be held up alone. Tells their ports, then serves until it is killed. */
import { openProbeServers } from "./probe-servers.ts";

const { ports } = await openProbeServers();
process.send?.(ports);

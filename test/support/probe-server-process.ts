/**
 * The servers of `probe-servers.ts` in their own process, for tests that block the event loop of their own process.
 * Sends its ports to the parent, then serves until it is killed.
 */
import { openProbeServers } from "./probe-servers.ts";

const { ports } = await openProbeServers();
process.send?.(ports);

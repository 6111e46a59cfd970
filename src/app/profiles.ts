/** Profiles this process with V8's own inspector, without opening a port. */
import { Session } from "node:inspector/promises";
import { sleep } from "../concurrency/sleep.ts";
import type { Clock } from "../ports/clock.ts";
import type { Profiles } from "../server/routes/profiling.ts";

export const processProfiles = (clock: Clock): Profiles => ({
  commandLine: process.argv,
  cpu: (ms, signal) =>
    inSession(async (session) => {
      await session.post("Profiler.enable");
      await session.post("Profiler.start");
      await sleep(clock, ms, signal);
      const { profile } = await session.post("Profiler.stop");
      return JSON.stringify(profile);
    }),
  heap: (ms, signal) =>
    inSession(async (session) => {
      await session.post("HeapProfiler.enable");
      await session.post("HeapProfiler.startSampling");
      await sleep(clock, ms, signal);
      const { profile } = await session.post("HeapProfiler.stopSampling");
      return JSON.stringify(profile);
    }),
});

/** Disconnecting a session stops what it has started. */
async function inSession(take: (session: Session) => Promise<string>): Promise<string> {
  const session = new Session();
  session.connect();
  try {
    return await take(session);
  } finally {
    session.disconnect();
  }
}

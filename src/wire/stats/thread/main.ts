/** The thread's program: receives a request and sends a reading in parts. A failure is sent as its text. */
import { parentPort, workerData } from "node:worker_threads";
import { assert } from "../../../base/assert.ts";
import { errorText } from "../../../base/error-text.ts";
import { RecentMap } from "../../../base/recent-map.ts";
import type { CgroupStats } from "../../../domain/stats/stats-reading.ts";
import { hostClock } from "../../host/clock.ts";
import type { ThreadAnswer, ThreadData, ThreadQuestion } from "../thread-messages.ts";
import { type CgroupCreation, readStats } from "./read-stats.ts";

/** Few enough to be garbage-collected early here, while the agent receives them. */
const AT_ONCE = 32;
/** More cgroups than any node has. */
const CREATIONS_MAX = 4_000;

const port = parentPort;
assert(port !== null, "this program is a thread's");
const { root } = workerData as ThreadData;
const createdAt = new RecentMap<string, CgroupCreation>(CREATIONS_MAX);

const tell = (answer: ThreadAnswer) => port.postMessage(answer, []);

port.on("message", ({ number, question }: ThreadQuestion) => {
  try {
    let groups: CgroupStats[] = [];
    const tellGroups = () => {
      tell({ number, kind: "groups", groups });
      groups = [];
    };
    const rest = readStats(question, { root, clock: hostClock, createdAt }, (stats) => {
      groups.push(stats);
      if (groups.length === AT_ONCE) tellGroups();
    });
    tellGroups();
    tell({ number, kind: "rest", rest });
  } catch (error) {
    tell({ number, kind: "failure", failure: errorText(error) });
  }
});

/** The thread's program: receives a request and sends a reading in parts. A failure is sent as its text. */
import { parentPort, workerData } from "node:worker_threads";
import { assert } from "../../../base/assert.ts";
import { errorText } from "../../../base/error-text.ts";
import { RecentMap } from "../../../base/recent-map.ts";
import type { GroupFigures } from "../../../domain/stats/figures.ts";
import { hostClock } from "../../host/clock.ts";
import type { ThreadAnswer, ThreadData, ThreadQuestion } from "../thread-messages.ts";
import { type Birth, readFigures } from "./read-figures.ts";

/** Few enough to be garbage-collected early here, while the agent receives them. */
const AT_ONCE = 32;
/** More cgroups than any node has. */
const BIRTHS_MAX = 4_000;

const port = parentPort;
assert(port !== null, "this program is a thread's");
const { root } = workerData as ThreadData;
const births = new RecentMap<string, Birth>(BIRTHS_MAX);

const tell = (answer: ThreadAnswer) => port.postMessage(answer, []);

port.on("message", ({ number, question }: ThreadQuestion) => {
  try {
    let groups: GroupFigures[] = [];
    const tellGroups = () => {
      tell({ number, kind: "groups", groups });
      groups = [];
    };
    const rest = readFigures(question, { root, clock: hostClock, births }, (figures) => {
      groups.push(figures);
      if (groups.length === AT_ONCE) tellGroups();
    });
    tellGroups();
    tell({ number, kind: "rest", rest });
  } catch (error) {
    tell({ number, kind: "failure", failure: errorText(error) });
  }
});

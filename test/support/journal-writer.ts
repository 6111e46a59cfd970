/**
 * A process that writes a journal, for tests that kill it or make its calls fail: `journal-writer.ts <directory> <life>
 * <records> <at once>`. It prints `ready`, then the outcome of each append once it is known, as `ack <uid>` or `rej
 * <uid>`, and `done` at the end.
 */
import { writeSync } from "node:fs";
import { createJournal } from "../../src/controllers/journal/journal.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { createHostFiles } from "../../src/wire/host/files.ts";

/** Small, so that even a short-lived process fills several segments and compacts them. */
export const writerLimits = { segmentBytesMax: 3000, totalBytesMax: 9000, bytesTarget: 4000 };

const say = (line: string) => writeSync(1, `${line}\n`);

async function writeJournal(directory: string, life: string, records: number, atOnce: number): Promise<void> {
  const files = createHostFiles({ clock: hostClock });
  const onProblem = () => {};
  const journal = createJournal({ files, directory, clock: hostClock, onProblem, limits: writerLimits });
  await journal.replay();
  say("ready");
  for (let written = 0; written < records; ) {
    const group = Array.from({ length: atOnce }, (_, index) => `${life}-${written + index}`);
    await Promise.all(
      group.map((uid) =>
        journal.append({ kind: "admitted", uid, pod: `ns/${uid}`, wallMs: 1 }).then(
          () => say(`ack ${uid}`),
          () => say(`rej ${uid}`),
        ),
      ),
    );
    written += atOnce;
  }
  say("done");
}

if (import.meta.main) {
  const [directory = "", life = "", records = "", atOnce = ""] = process.argv.slice(2);
  await writeJournal(directory, life, Number(records), Number(atOnce));
}

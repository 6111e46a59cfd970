import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../sim/fake-files.ts";
import { FakeLogFiles } from "../../sim/fake-log-files.ts";
import { diskLogs } from "../../sim/world-files.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { LogFormatter } from "../domain/logs/log-formatter.ts";
import { type ReadLogOptions, readLog } from "./read-log.ts";

const [DIRECTORY, PATH] = ["/logs/p/app", "/logs/p/app/0.log"] as const;
const NEVER = new AbortController().signal;

/** A log, a container that writes numbered lines to it, and its readers. */
function world() {
  const clock = new ManualClock();
  const files = new FakeFiles({ clock });
  const logFiles = new FakeLogFiles(files);
  let file = diskLogs(files).open(PATH);
  const reopen = () => {
    file = diskLogs(files).open(PATH);
  };
  const watchers = new Set<() => void>();
  const lines: string[] = [];
  let running = true;
  /** Writes complete lines. */
  const write = (text: string) => {
    const head = `${new Date(clock.wallMs()).toISOString()} stdout F `;
    file.append(Buffer.from(text.replaceAll(/^(?=.)/gm, head)));
  };
  const follow: NonNullable<ReadLogOptions["follow"]> = {
    isRunning: async () => running,
    watch: (changed) => {
      watchers.add(changed);
      return () => void watchers.delete(changed);
    },
  };
  let written = 0;
  return {
    clock,
    files,
    logFiles,
    reopen,
    write,
    /** Writes this many more lines. */
    count: (lineCount: number): void => {
      write(
        numbers(lineCount, written + 1)
          .map((number) => `${number}\n`)
          .join(""),
      );
      written += lineCount;
    },
    get written() {
      return written;
    },
    /** Rotates the log; `compress` names a part rotated earlier that is compressed now. */
    rotate: async (stamp: string, compress?: string): Promise<void> => {
      await files.port.rename(PATH, `${PATH}.${stamp}`);
      reopen();
      if (compress === undefined) return;
      await logFiles.compress(`${PATH}.${compress}`, `${PATH}.${compress}.gz`, NEVER);
      await files.port.removeFile(`${PATH}.${compress}`);
    },
    end: (): void => {
      running = false;
      for (const changed of watchers) changed();
    },
    watchers,
    lines,
    read: (more: Partial<ReadLogOptions> = {}, signal: AbortSignal = NEVER) => {
      const formatter = new LogFormatter({
        timestamps: false,
        since: undefined,
        streams: new Set(["stdout", "stderr"]),
        bytesMax: Number.POSITIVE_INFINITY,
        linesMax: Number.POSITIVE_INFINITY,
      });
      let rest = "";
      const sink = async (bytes: Uint8Array) => {
        const parts = (rest + Buffer.from(bytes).toString()).split("\n");
        rest = parts.pop() ?? "";
        lines.push(...parts);
      };
      const common = { path: PATH, tailLines: undefined, follow: undefined, clock, files: files.port, logFiles };
      return readLog({ ...common, formatter, write: sink, ...more }, signal);
    },
    follow,
  };
}

const numbers = (count: number, from = 1) => Array.from({ length: count }, (_, index) => String(from + index));

test("[19.4] without follow the current log is read to its end, without rotated parts", async () => {
  const { count, rotate, read, lines } = world();
  count(3);
  await rotate("20260101-000001");
  count(2_000);
  assert.equal(await read(), undefined);
  assert.deepEqual(lines, numbers(2_000, 4));
});

test("[19.4] tailLines seeks from the end of large logs", async () => {
  for (const [lineCount, tailLines, shown] of [
    [4_000, 3_000, numbers(3_000, 1_001)],
    [4_000, 1, ["4000"]],
    [4_000, 0, []],
    [5, 5, numbers(5)],
    [5, 9, numbers(5)],
    [0, 9, []],
  ] as const) {
    const { count, read, lines } = world();
    count(lineCount);
    assert.equal(await read({ tailLines }), undefined);
    assert.deepEqual(lines, shown, `${tailLines} of ${lineCount}`);
  }
});

test("a line much longer than the read buffer is read whole", async () => {
  const { write, read, lines } = world();
  const long = "0123456789".repeat(100_000);
  write(`before\n${long}\nafter\n`);
  assert.equal(await read(), undefined);
  assert.deepEqual(lines, ["before", long, "after"]);
});

test("[19.4] a missing or invalid log is reported with the Go kubelet's message", async () => {
  const { files, read, write } = world();
  const missing = await read({ path: "/logs/none" });
  assert.equal(
    missing,
    'failed to try resolving symlinks in path "/logs/none": lstat /logs/none: no such file or directory',
  );
  await files.port.writeAtomically(`${DIRECTORY}/odd`, Buffer.from("root:x:0:0\n"), 0o600);
  const odd = await read({ path: `${DIRECTORY}/odd` });
  assert.equal(odd, 'failed to get parse function: unsupported log format: "root:x:0:0\\n"');
  write("fine\n");
  await files.port.link(`${DIRECTORY}/odd`, `${DIRECTORY}/link`);
  assert.match((await read({ path: `${DIRECTORY}/link` })) ?? "", /^failed to read log file "\/logs\/p\/app\/link": /);
});

test("[19.4] a follower gets later lines soon after they are written, and ends with the container", async () => {
  const { clock, count, read, follow, lines, end, watchers } = world();
  count(2);
  const reading = read({ follow });
  await clock.advance(1);
  assert.deepEqual(lines, numbers(2));
  await clock.advance(5_000);
  count(1);
  await clock.advance(1);
  assert.deepEqual(lines, numbers(3));
  count(1);
  end();
  await clock.advance(20);
  assert.equal(await reading, undefined);
  assert.deepEqual(lines, numbers(4));
  assert.deepEqual([watchers.size, clock.timersPending], [0, 0], "nothing stays behind");
});

test("[19.4] following the log of an exited container ends at once", async () => {
  const { clock, count, read, follow, lines, end } = world();
  count(5);
  end();
  const reading = read({ follow, tailLines: 2 });
  await clock.advance(0);
  assert.equal(await reading, undefined);
  assert.deepEqual(lines, ["4", "5"]);
});

test("[19.4] a follower gets every line once, in order, over twenty rotations", async () => {
  const kept = world();
  const { clock, count, read, follow, lines, end, rotate } = kept;
  const reading = read({ follow });
  for (let turn = 0; turn < 20; turn += 1) {
    count(100);
    await clock.advance(turn % 3 === 0 ? 5 : 700);
    await rotate(`20260101-0000${String(turn).padStart(2, "0")}`);
    count(10);
    await clock.advance(turn % 2 === 0 ? 0 : 900);
  }
  await clock.advance(10_000);
  end();
  await clock.advance(2_000);
  assert.equal(await reading, undefined);
  assert.deepEqual(lines, numbers(kept.written));
});

test("lines that the runtime writes to the old log after the rotation are not lost", async () => {
  const { clock, files, reopen, count, read, follow, lines, end, write } = world();
  const reading = read({ follow });
  count(1);
  await clock.advance(100);
  const old = diskLogs(files).open(PATH);
  await files.port.rename(PATH, `${PATH}.20260101-000001`);
  reopen();
  write("3\n");
  await clock.advance(300);
  old.append(Buffer.from("2026-01-01T00:00:00Z stdout F 2\n"));
  await clock.advance(2_000);
  end();
  await clock.advance(1_000);
  await reading;
  assert.deepEqual(lines, ["1", "2", "3"]);
});

test("a slow follower reads parts that were rotated meanwhile, compressed ones too", async () => {
  const kept = world();
  const { clock, count, read, follow, lines, end, rotate } = kept;
  count(3);
  await rotate("20260101-000001");
  count(3);
  const client = { isStuck: true };
  const taken: string[] = [];
  const stuck = async (bytes: Uint8Array) => {
    taken.push(...Buffer.from(bytes).toString().trimEnd().split("\n"));
    while (client.isStuck) await new Promise((resolve) => void clock.after(10, () => resolve(undefined)));
  };
  const reading = read({ follow, write: stuck });
  await clock.advance(50);
  for (const [stamp, before] of [
    ["20260101-000002", "20260101-000001"],
    ["20260101-000003", "20260101-000002"],
    ["20260101-000004", "20260101-000003"],
  ] as const) {
    count(3);
    await rotate(stamp, before);
  }
  count(3);
  client.isStuck = false;
  await clock.advance(5_000);
  end();
  await clock.advance(1_000);
  assert.equal(await reading, undefined);
  assert.deepEqual(lines, []);
  assert.deepEqual(taken, numbers(kept.written - 3, 4));
});

test("a log that is truncated in place is read from its beginning", async () => {
  const { clock, files, count, read, follow, lines, end, write } = world();
  count(2);
  const reading = read({ follow });
  await clock.advance(100);
  await files.port.overwrite(PATH, new Uint8Array(), 0o640);
  write("new\n");
  await clock.advance(3_000);
  end();
  await clock.advance(100);
  await reading;
  assert.deepEqual(lines, ["1", "2", "new"]);
});

test("a reading ends at once when the client disconnects", async () => {
  const { clock, count, read, follow, watchers } = world();
  count(1);
  const gone = new AbortController();
  const reading = read({ follow }, gone.signal);
  await clock.advance(100);
  gone.abort(new Error("the client is gone"));
  await assert.rejects(reading, /the client is gone/);
  assert.deepEqual([watchers.size, clock.timersPending], [0, 0]);
});

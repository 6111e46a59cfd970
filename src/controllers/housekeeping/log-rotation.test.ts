import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { FakeLogFiles } from "../../../sim/fake-log-files.ts";
import { diskLogs } from "../../../sim/world-files.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { instance, view } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import { Semaphore } from "../../concurrency/semaphore.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import { HostFileError } from "../../ports/host-files.ts";
import type { LogFiles } from "../../ports/log-files.ts";
import { LogRotation } from "./log-rotation.ts";

const [DIRECTORY, PATH, LIMIT_BYTES] = ["/logs/p/app", "/logs/p/app/0.log", 1_000_000] as const;

function world(logFiles?: (real: LogFiles) => Pick<LogFiles, "compress">) {
  const clock = new ManualClock();
  const end = new AbortController();
  const files = new FakeFiles({ clock });
  const looks: string[] = [];
  const port = {
    ...files.port,
    facts: (path: string) => {
      looks.push(path);
      return files.port.facts(path);
    },
  };
  let file = diskLogs(files).open(PATH);
  let reopened = 0;
  const podRuntimeStatus = new LatestTable<string, PodRuntimeView>();
  const log = keptLog();
  const real = new FakeLogFiles(files);
  const running = { ...instance("app", "running"), logPath: PATH };
  const rotation = new LogRotation({
    clock,
    files: port,
    logFiles: logFiles?.(real) ?? real,
    log,
    podRuntimeStatus,
    policy: { bytesMax: LIMIT_BYTES, filesMax: 3, everyMs: 10_000 },
    workers: new Semaphore(clock, { max: 1, maxHoldMs: 60_000 }),
    runtime: {
      reopenLog: async () => {
        reopened += 1;
        file = diskLogs(files).open(PATH);
      },
    },
  }).run(end.signal);
  const { uid } = view([], [running]);
  return {
    clock,
    files,
    log,
    looks,
    write: (bytes: number) => file.append(new Uint8Array(bytes)),
    run: () => podRuntimeStatus.set(uid, view([], [running])),
    stop: () => podRuntimeStatus.set(uid, view([], [{ ...running, state: "exited" }])),
    reopened: () => reopened,
    names: () => files.port.list(DIRECTORY),
    over: async () => {
      end.abort(new Error("over"));
      await rotation;
      assert.equal(clock.timersPending, 0, "nothing stays behind");
    },
  };
}

test("[19.2] an idle log is checked about once per interval", async () => {
  const { clock, run, looks, over } = world();
  run();
  await clock.advance(2_000);
  looks.length = 0;
  await clock.advance(60_000);
  assert.ok(looks.length >= 6 && looks.length <= 14, `${looks.length} looks in a minute`);
  await over();
});

test("[19.2] a log idle for 30 s that then grows at 6 MB/s is rotated near its limit", async () => {
  const { clock, run, write, files, reopened, over } = world();
  run();
  await clock.advance(30_500);
  let largest = 0;
  for (let ms = 0; ms < 3_000; ms += 10) {
    write(60_000);
    await clock.advance(10);
    largest = Math.max(largest, (await files.port.facts(PATH))?.sizeBytes ?? 0);
  }
  assert.ok(reopened() >= 12, `${reopened()} rotations`);
  // A wait of a tenth would be 17 ms at this rate, below the minimum wait between two checks.
  assert.ok(largest <= LIMIT_BYTES + 6_000 * 70, `${largest} bytes`);
  await over();
});

test("[19.2] a log of exactly the limit is rotated, one byte less is not; a missing log is reopened", async () => {
  const { clock, run, write, names, files, reopened, over } = world();
  write(LIMIT_BYTES - 1);
  run();
  await clock.advance(11_000);
  assert.deepEqual([await names(), reopened()], [["0.log"], 0]);
  write(1);
  await clock.advance(1_000);
  assert.equal(reopened(), 1);
  assert.equal((await names()).length, 2);
  await files.port.removeFile(PATH);
  await clock.advance(11_000);
  assert.equal(reopened(), 2);
  assert.ok((await names()).includes("0.log"));
  await over();
});

test("[19.2] logs of containers that do not run are not rotated", async () => {
  const { clock, run, stop, write, names, over, looks } = world();
  run();
  await clock.advance(100);
  stop();
  write(2 * LIMIT_BYTES);
  looks.length = 0;
  await clock.advance(60_000);
  assert.deepEqual([await names(), looks], [["0.log"], []]);
  await over();
});

test("[19.2] ENOSPC while compressing is logged once, leaves only the plain file, and blocks no rotation", async () => {
  let isFull = true;
  const { clock, run, write, names, log, reopened, over } = world((real) => ({
    compress: (from, to, signal) =>
      isFull
        ? Promise.reject(new HostFileError("compress", "a log", "noSpace", "ENOSPC"))
        : real.compress(from, to, signal),
  }));
  run();
  for (let turn = 1; turn <= 5; turn += 1) {
    write(LIMIT_BYTES);
    await clock.advance(11_000);
    assert.equal(reopened(), turn);
  }
  assert.equal((await names()).join(" ").replaceAll(/\d{8}-\d{6}/g, "TIME"), "0.log 0.log.TIME 0.log.TIME");
  assert.deepEqual(
    log.lines.map((line) => line.split(":")[0]),
    ["E Failed to compress a rotated container log; the log stays uncompressed"],
  );
  isFull = false;
  write(LIMIT_BYTES);
  await clock.advance(11_000);
  assert.equal((await names()).join(" ").replaceAll(/\d{8}-\d{6}/g, "TIME"), "0.log 0.log.TIME.gz 0.log.TIME");
  assert.equal(log.lines.length, 1);
  await over();
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { install } from "../../../sim/world-files.ts";
import { withFileOfSize } from "../../../test/support/file-of-size.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { ALLOCATED_FILE, encodeCheckpoint } from "../../domain/resize/checkpoint.ts";
import { CHECKPOINT_FILE_BYTES_MAX } from "../limits.ts";
import { readCheckpoints } from "./resize-checkpoints.ts";

const PATH = `/root/${ALLOCATED_FILE}`;
const pods = new Map([["u", { containers: { app: { requests: { cpu: "1" } } } }]]);

test("a checkpoint larger than the limit is set aside unread; one of exactly the limit is read", async () => {
  const disk = new FakeFiles({ clock: new ManualClock() });
  install(disk, PATH, encodeCheckpoint(pods));
  const log = keptLog();
  const read = (sizeBytes: number) =>
    readCheckpoints({
      files: withFileOfSize(disk.port, PATH, sizeBytes),
      log,
      rootDir: "/root",
      corruptIsFatal: false,
    });
  assert.deepEqual((await read(CHECKPOINT_FILE_BYTES_MAX)).allocated.pods, pods);
  assert.deepEqual(log.lines, []);
  assert.deepEqual((await read(CHECKPOINT_FILE_BYTES_MAX + 1)).allocated.pods, new Map());
  assert.match(log.lines.join("\n"), /^E Set aside an invalid allocation checkpoint: read .*: tooLarge/);
  assert.deepEqual(await disk.port.list("/root"), [`${ALLOCATED_FILE}.corrupt`]);
});

test("[27.1.27] with corruptIsFatal a corrupt checkpoint ends the start with upstream's message and stays in place", async () => {
  const disk = new FakeFiles({ clock: new ManualClock() });
  install(disk, PATH, '{"data":"{}","checksum":1}');
  const log = keptLog();
  await assert.rejects(readCheckpoints({ files: disk.port, log, rootDir: "/root", corruptIsFatal: true }), {
    message: `could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete pod resource information checkpoint file "${PATH}" before restarting Kubelet`,
  });
  assert.deepEqual(await disk.port.list("/root"), [ALLOCATED_FILE]);
  assert.match(log.lines[0] ?? "", /^E Failed to read an allocation checkpoint: its checksum is not/);
});

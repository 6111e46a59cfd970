import assert from "node:assert/strict";
import { test } from "node:test";
import { logFilesContract } from "../test/contract/log-files-contract.ts";
import { ManualClock } from "../test/support/manual-clock.ts";
import { FakeFiles } from "./fake-files.ts";
import { FakeLogFiles } from "./fake-log-files.ts";
import { diskLogs } from "./world-files.ts";

function world() {
  const fake = new FakeFiles({ clock: new ManualClock() });
  fake.makeDirectory("/var/scratch", 0o755);
  const append = async (path: string, text: string) => diskLogs(fake).open(path).append(new TextEncoder().encode(text));
  return { fake, logs: new FakeLogFiles(fake), append };
}

logFilesContract("the simulator's disk", async () => {
  const { fake, logs, append } = world();
  return { logs, files: fake.port, directory: "/var/scratch", append, end: async () => {} };
});

test("[19.2] compress fails with noSpace on a full disk and leaves no temporary file", async () => {
  const { fake, logs, append } = world();
  await append("/var/scratch/0.log", "abc".repeat(1000));
  fake.disk.freeBytes = 10;
  await assert.rejects(logs.compress("/var/scratch/0.log", "/var/scratch/0.log.tmp", new AbortController().signal), {
    code: "noSpace",
  });
  assert.deepEqual(await fake.port.list("/var/scratch"), ["0.log"]);
  assert.equal(fake.disk.freeBytes, 10);
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { hostClock } from "./clock.ts";
import { takeProcessLock } from "./process-lock.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "deckhand-lock-"));
});
after(() => rm(folder, { recursive: true }));

const never = new AbortController().signal;

test("one process holds it, the next is refused, and gets it once it is released", async () => {
  const file = join(folder, "a");
  const first = await takeProcessLock(file, hostClock, never);
  await assert.rejects(takeProcessLock(file, hostClock, never), /another node agent holds/);
  first.release();
  (await takeProcessLock(file, hostClock, never)).release();
});

test("a killed holder lets go of it", async () => {
  const file = join(folder, "b");
  const program = `
    import { takeProcessLock } from ${JSON.stringify(join(import.meta.dirname, "process-lock.ts"))};
    import { hostClock } from ${JSON.stringify(join(import.meta.dirname, "clock.ts"))};
    await takeProcessLock(${JSON.stringify(file)}, hostClock, new AbortController().signal);
    console.log("held");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  child.kill("SIGKILL");
  (await takeProcessLock(file, hostClock, never)).release();
});

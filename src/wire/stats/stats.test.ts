/** The stats thread starts with the first request, ends when idle, and is given up when it does not answer. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, suite, test } from "node:test";
import { waitUntil } from "../../../test/cluster/wait.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import type { StatsQuestion } from "../../ports/stats.ts";
import { hostClock } from "../host/clock.ts";
import { parseOwnGroup } from "./own-group.ts";
import { createStats } from "./stats.ts";

const program = new URL("thread/main.ts", import.meta.url);
const forever = new AbortController().signal;
const QUESTION: StatsQuestion = { detail: "usage", groups: [], sandboxes: new Set(), filesystems: [], files: [] };

const root = mkdtempSync(join(tmpdir(), "deckhand-stats-"));
after(() => rmSync(root, { recursive: true }));
for (const [path, text] of Object.entries({
  "proc/uptime": "5000.00 9000.00\n",
  "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
  "proc/self/cgroup": "0::/system.slice/deckhand.service\n",
  "sys/fs/cgroup/cpu.stat": "usage_usec 1000\n",
})) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

void suite("stats thread", () => {
  test("[21.8] starts with the first request, serves concurrent requests, and ends when idle", async () => {
    const clock = new ManualClock();
    const stats = createStats({ clock, program, root, idleMs: 1_000 });
    assert.equal(stats.isAwake, false);
    const [one, other] = await Promise.all([stats.read(QUESTION, forever), stats.read(QUESTION, forever)]);
    assert.deepEqual([one.groups[0]?.cpu?.usageNs, other.groups[0]?.cpu?.usageNs], [1_000_000, 1_000_000]);
    assert.equal(stats.isAwake, true);
    await clock.advance(999);
    assert.equal(stats.isAwake, true);
    await clock.advance(1);
    assert.equal(stats.isAwake, false);
    assert.equal((await stats.read(QUESTION, forever)).groups.length, 1);
    await stats.close();
    assert.equal(stats.isAwake, false);
  });

  test("is dropped when it does not answer within the limit", async () => {
    const clock = new ManualClock();
    const silent = new URL("data:text/javascript,setInterval(() => {}, 1000)");
    const stats = createStats({ clock, program: silent, root, limitMs: 500 });
    const refused = assert.rejects(stats.read(QUESTION, forever), /no answer within 500 ms/);
    await clock.advance(500);
    await refused;
    assert.equal(stats.isAwake, false);
    await stats.close();
  });

  test("rejects requests at once while the kernel blocks it, and does not block close()", async () => {
    const clock = new ManualClock();
    const fifo = join(root, "fifo");
    execFileSync("mkfifo", [fifo]);
    const [mark, place] = [join(root, "mark"), fifo].map((path) => JSON.stringify(path));
    const held = new URL(
      `data:text/javascript,import { openSync, writeFileSync } from "node:fs"; writeFileSync(${mark}, ""); openSync(${place}, "r");`,
    );
    const stats = createStats({ clock, program: held, root, limitMs: 500 });
    const refused = assert.rejects(stats.read(QUESTION, forever), /no answer within 500 ms/);
    await waitUntil("the thread to be held", 20_000, async () => existsSync(join(root, "mark")));
    await clock.advance(500);
    await refused;
    await assert.rejects(stats.read(QUESTION, forever), /does not end/);
    const closing = stats.close();
    await clock.advance(2_000);
    await closing;
    // A writer releases the thread.
    await (await open(fifo, "r+")).close();
  });

  test("rejects its requests with the exit code when it dies", async () => {
    const broken = createStats({ clock: hostClock, program: new URL("data:text/javascript,process.exit(3)"), root });
    await assert.rejects(broken.read(QUESTION, forever), /ended with 3/);
    await broken.close();
  });

  test("rejects a request when no cgroups are mounted", async () => {
    const stats = createStats({ clock: hostClock, program, root: join(root, "proc") });
    await assert.rejects(stats.read(QUESTION, forever), /no control groups are mounted/);
    await stats.close();
  });

  test("[21.3] own cgroup is systemd's, or the one in which CPU and memory agree", async () => {
    const stats = createStats({ clock: hostClock, program, root });
    assert.equal(await stats.ownGroup(), "/system.slice/deckhand.service");
    await stats.close();
    assert.equal(parseOwnGroup("4:memory:/a\n2:cpu,cpuacct:/a\n1:name=systemd:/b\n0::/\n"), "/b");
    assert.equal(parseOwnGroup("4:memory:/a\n2:cpu:/a\n0::/\n"), "/a");
    assert.equal(parseOwnGroup("4:memory:/a\n2:cpu:/b\n"), undefined);
    assert.equal(parseOwnGroup(""), undefined);
  });
});

/**
 * The journal on a real disk, with its process killed at random moments and at exact system calls, and with system
 * calls that fail.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createJournal } from "../../src/controllers/journal/journal.ts";
import type { JournalProblem } from "../../src/controllers/journal/segments.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { createHostFiles } from "../../src/wire/host/files.ts";
import { figure } from "../figures.ts";
import { writerLimits } from "../support/journal-writer.ts";

const KILLS = 50;
const writer = fileURLToPath(new URL("../support/journal-writer.ts", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "deckhand-crash-"));
const hasStrace = spawnSync("strace", ["--version"]).status === 0;
after(() => rmSync(scratch, { recursive: true }));

async function replay(directory: string) {
  const problems: JournalProblem[] = [];
  const files = createHostFiles({ clock: hostClock });
  const onProblem = (problem: JournalProblem) => problems.push(problem);
  const journal = createJournal({ files, directory, clock: hostClock, onProblem, limits: writerLimits });
  return { uids: (await journal.replay()).map(({ uid }) => uid), problems };
}

const reported = (output: string, what: string) =>
  output.split("\n").flatMap((line) => (line.startsWith(`${what} `) ? [line.slice(what.length + 1)] : []));

function assertKept(promised: readonly string[], found: readonly string[]): void {
  const kept = new Set(found);
  assert.deepEqual(
    promised.filter((uid) => !kept.has(uid)),
    [],
    "promised and lost",
  );
  assert.equal(kept.size, found.length, "something came back twice");
  assert.deepEqual(
    found.filter((uid) => !/^\d+-\d+$/.test(uid)),
    [],
    "half a record came back",
  );
}

/** Resolves with the writer's whole output once the writer is dead. */
function runUntilKilled(directory: string, life: number, afterReadyMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = [writer, directory, String(life), "1000000", String(1 + (life % 4))];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk) => {
      if (output === "") setTimeout(() => child.kill("SIGKILL"), afterReadyMs);
      output += String(chunk);
    });
    child.on("error", reject);
    child.on("close", () => resolve(output));
  });
}

void test(`${KILLS} kills at random moments lose no acknowledged record and bring back no partial one`, async () => {
  const directory = join(scratch, "kills");
  const promised: string[] = [];
  const problems = new Map<string, number>();
  for (let life = 0; life < KILLS; life += 1) {
    promised.push(...reported(await runUntilKilled(directory, life, Math.random() * 40), "ack"));
    const found = await replay(directory);
    assertKept(promised, found.uids);
    for (const { kind } of found.problems) problems.set(kind, (problems.get(kind) ?? 0) + 1);
  }
  assert.ok(promised.length > KILLS, `only ${promised.length} records in ${KILLS} lives`);
  assert.deepEqual(
    [...problems.keys()].filter((kind) => kind !== "tornTail"),
    [],
  );
  figure("acknowledged records", promised.length, "");
  figure("torn tails", problems.get("tornTail") ?? 0, "");
});

/**
 * Uses one pool thread, because strace counts calls by thread and must count them all. Disables the compile cache, so
 * that no call is for code that is kept from run to run.
 */
function runUnderStrace(options: readonly string[], args: readonly string[]) {
  const result = spawnSync("strace", ["-f", "-qq", ...options, process.execPath, writer, ...args], {
    env: { ...process.env, UV_THREADPOOL_SIZE: "1", NODE_DISABLE_COMPILE_CACHE: "1" },
    encoding: "utf8",
  });
  if (result.error !== undefined) throw result.error;
  return result;
}

/**
 * The maximum number of files that one thread opens before the first record is written. These are the program's own
 * files; another thread writes the records.
 */
function opensBefore(): number {
  const calls = join(scratch, "opens");
  runUnderStrace(["-o", calls, "-e", "trace=openat"], [join(scratch, "empty"), "1", "0", "1"]);
  const counts = new Map<string, number>();
  for (const line of readFileSync(calls, "utf8").split("\n")) {
    const [thread = ""] = line.split(" ");
    counts.set(thread, (counts.get(thread) ?? 0) + 1);
  }
  return Math.max(...counts.values());
}

const failures = [
  ["fdatasync", "ENOSPC", "5..9"],
  ["fdatasync", "EIO", "5..9"],
  ["fsync", "ENOSPC", "9..14"],
  ["fsync", "EIO", "9..14"],
  ["rename", "ENOSPC", "2..4"],
  ["rename", "EROFS", "2..4"],
  ["pwrite64", "ENOSPC", "6..12"],
  ["pwrite64", "EDQUOT", "6..12"],
  ["openat", "EROFS", "afterLoading"],
  ["unlink", "EROFS", "1..9"],
] as const;

void test("failing system calls reject appends, and only while they fail", {
  skip: !hasStrace && "no strace",
}, async () => {
  const opens = opensBefore();
  const records = opens + 60;
  for (const [index, [call, error, moment]] of failures.entries()) {
    const when = moment === "afterLoading" ? `${opens + 3}..${opens + 20}` : moment;
    const directory = join(scratch, `fail-${index}`);
    const inject = ["-o", "/dev/null", "-e", `trace=${call}`, "-e", `inject=${call}:error=${error}:when=${when}`];
    const { stdout, status } = runUnderStrace(inject, [directory, "1", String(records), "1"]);
    assert.ok(status === 0 && stdout.endsWith("done\n"), `${call} ${error}: ${status} ${stdout.slice(-200)}`);
    const promised = reported(stdout, "ack");
    const rejected = reported(stdout, "rej");
    assertKept(promised, (await replay(directory)).uids);
    assert.ok(promised.includes(`1-${records - 1}`), `${call} ${error}: it did not come back`);
    figure(`rejected by ${error} of ${call}`, rejected.length, `of ${records}`);
    if (call !== "unlink" && call !== "openat") assert.ok(rejected.length > 0, `${call} ${error}`);
  }
});

const deaths = ["fdatasync", "fsync", "rename", "pwrite64", "unlink"].flatMap((call) =>
  [1, 2, 3, 4, 5, 9, 14, 30].map((nth) => [call, nth] as const),
);

void test("a kill at an exact system call loses no acknowledged record", {
  skip: !hasStrace && "no strace",
}, async () => {
  let killed = 0;
  for (const [index, [call, nth]] of deaths.entries()) {
    const directory = join(scratch, `death-${index}`);
    const inject = ["-o", "/dev/null", "-e", `trace=${call}`, "-e", `inject=${call}:signal=SIGKILL:when=${nth}`];
    const { stdout } = runUnderStrace(inject, [directory, "1", "60", "1"]);
    if (!stdout.endsWith("done\n")) killed += 1;
    const { uids, problems } = await replay(directory);
    assertKept(reported(stdout, "ack"), uids);
    assert.deepEqual(
      problems.filter(({ kind }) => kind !== "tornTail"),
      [],
    );
  }
  figure("deaths at an exact call", killed, `of ${deaths.length}`);
  assert.ok(killed > deaths.length / 2);
});

void test("110 concurrent appends share their syncs, and a sync of the directory follows every rename", {
  skip: !hasStrace && "no strace",
}, () => {
  const trace = join(scratch, "trace");
  const { stdout } = runUnderStrace(
    ["-o", trace, "-y", "-e", "trace=rename,fsync,fdatasync,pwrite64"],
    [join(scratch, "burst"), "1", "110", "110"],
  );
  assert.equal(reported(stdout, "ack").length, 110);
  const calls = readFileSync(trace, "utf8")
    .split("\n")
    .flatMap((line) => /(rename|fsync|fdatasync|pwrite64)\((.*)/.exec(line)?.slice(1, 3).join(" ") ?? []);
  const count = (name: string) => calls.filter((call) => call.startsWith(`${name} `)).length;
  assert.ok(count("fdatasync") <= 2, `${count("fdatasync")} syncs`);
  assert.ok(count("rename") >= 1);
  for (const [index, call] of calls.entries()) {
    if (call.startsWith("rename ")) assert.match(calls[index + 1] ?? "", /^fsync .*\/burst>/);
  }
});

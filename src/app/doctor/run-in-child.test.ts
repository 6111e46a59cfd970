import assert from "node:assert/strict";
import { test } from "node:test";
import { waitUntil } from "../../../test/cluster/wait.ts";
import type { Clock } from "../../ports/clock.ts";
import { hostClock } from "../../wire/host/clock.ts";
import { COLORED, doctorInChild } from "./run-in-child.ts";

/** Runs this script in place of doctor, and returns what the parent process reports. */
async function ask(script: string, args: readonly string[] = [], clock: Clock = hostClock, isColored = false) {
  const said = { stdout: "", stderr: "" };
  const io = {
    clock,
    isColored,
    stdout: (text: string) => void (said.stdout += text),
    stderr: (text: string) => void (said.stderr += text),
  };
  const exitCode = await doctorInChild(args, io, { file: process.execPath, args: ["-e", script, "--"] });
  return { exitCode, ...said };
}

const STUCK = "setInterval(() => {}, 1_000)";
const answers = (fields: string) => `console.log(JSON.stringify({ exitCode: 1, stdout: "", stderr: "", ${fields} }))`;

test("doctorInChild passes on the child's output and exit code", async () => {
  assert.deepEqual(await ask(answers(`stdout: process.argv.slice(1).join(), stderr: "oh"`), ["-o", "json"]), {
    exitCode: 1,
    stdout: "-o,json",
    stderr: "oh",
  });
});

test("doctorInChild passes on whether the output shows colors", async () => {
  for (const isColored of [true, false]) {
    const { stdout } = await ask(answers(`stdout: process.env.${COLORED}`), [], hostClock, isColored);
    assert.equal(stdout, isColored ? "1" : "0");
  }
});

test("doctorInChild gives the child 64 threads", async () => {
  assert.equal((await ask(answers("stdout: process.env.UV_THREADPOOL_SIZE"))).stdout, "64");
});

test("doctorInChild kills a child that has answered and does not end", async () => {
  const { stdout } = await ask(`${answers("stdout: String(process.pid)")}; ${STUCK}`);
  await waitUntil("it is gone", 10_000, async () => {
    try {
      return !process.kill(Number(stdout), 0);
    } catch {
      return true;
    }
  });
});

test("doctorInChild reports could-not-look when the child does not answer or fails", async () => {
  const hurried: Clock = { ...hostClock, after: (ms, fire) => hostClock.after(ms / 100, fire) };
  const silent = await ask(STUCK, [], hurried);
  assert.equal(silent.exitCode, 1);
  assert.match(silent.stdout, /could-not-look\n +this host: no answer within 180000 ms\n/);
  const broken = await ask(`console.error("Error: oh"); process.exit(7)`, ["-o=json"]);
  const reported = JSON.parse(broken.stdout) as { readonly findings: readonly { readonly seen: string }[] };
  assert.match(reported.findings[0]?.seen ?? "", /it ended with 7: Error: oh$/);
});

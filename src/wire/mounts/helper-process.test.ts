import assert from "node:assert/strict";
import { test } from "node:test";
import { hostClock } from "../host/clock.ts";
import { type Helper, startHelper } from "./helper-process.ts";

/** A helper written in shell. */
const shell = (script: string): Helper => startHelper({ file: "sh", args: ["-c", script] });

const ask = (helper: Helper, onProgress: (files: number) => void = () => {}) =>
  helper.run({ kind: "kindOf", path: "/" }, onProgress);

const DIRECTORY = { kind: "done", value: "directory" };
const DONE = `echo '{"kind":"done","value":"directory"}'`;

void test("a helper answers several requests and reports progress", async () => {
  const helper = shell(`read a; echo '{"kind":"progress","files":3}'; ${DONE}; read b; ${DONE}; read c`);
  const reported: number[] = [];
  const replies = [await ask(helper, (files) => reported.push(files)), await ask(helper)];
  assert.deepEqual([replies, reported], [[DIRECTORY, DIRECTORY], [3]]);
  helper.end();
  await helper.ended;
});

void test("a reply split across writes is joined", async () => {
  const helper = shell(`read a; printf '{"kind":"do'; sleep 0.05; echo 'ne","value":"directory"}'; read b`);
  assert.deepEqual(await ask(helper), { kind: "done", value: "directory" });
  helper.end();
  await helper.ended;
});

void test("a helper that exits, prints invalid output or cannot start fails its caller", async () => {
  const ending = shell("read a; exit 3");
  await assert.rejects(ask(ending), /ended with 3/);
  await ending.ended;
  const raving = shell("read a; echo hello; read b");
  await assert.rejects(ask(raving), /said "hello"/);
  await raving.ended;
  const missing = startHelper({ file: "/nowhere/at/all", args: [] });
  await assert.rejects(ask(missing), /ENOENT/);
  await missing.ended;
});

void test("killing a helper kills its tools, and rejects its caller before the helper counts as ended", async () => {
  const beginMs = hostClock.monotonicMs();
  const both = shell("sleep 60 & read a; wait");
  const asked = ask(both);
  both.kill();
  await assert.rejects(asked, /ended with SIGKILL/);
  await both.ended;
  assert.ok(hostClock.monotonicMs() - beginMs < 30_000);

  // Outside its process group, because a tool that the kernel holds is out of reach as well. It has the helper's fourth
  // stream.
  const away = shell(
    `setsid sleep 0.5 >/dev/null 2>&1 </dev/null & read a; echo '{"kind":"progress","files":1}'; wait`,
  );
  const ends: string[] = [];
  const started = new Promise<void>((resolve) => void ask(away, () => resolve()).catch(() => ends.push("caller")));
  await started;
  away.kill();
  await away.ended.then(() => ends.push("helper"));
  assert.deepEqual(ends, ["caller", "helper"]);
});

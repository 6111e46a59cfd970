import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { pause } from "../../test/cluster/wait.ts";

test("[1.20] SIGUSR1 neither opens a debugger nor ends the volume helper", async (t) => {
  const helper = spawn(process.execPath, [new URL("main.ts", import.meta.url).pathname, "volume-helper"]);
  t.after(() => helper.kill("SIGKILL"));
  let said = "";
  helper.stderr.on("data", (text: Buffer) => {
    said += text.toString();
  });
  const kindOfRoot = async () => {
    helper.stdin.write(`${JSON.stringify({ kind: "kindOf", path: "/" })}\n`);
    const [reply] = (await once(helper.stdout, "data")) as [Buffer];
    return JSON.parse(reply.toString()) as unknown;
  };
  const isDirectory = { kind: "done", value: "directory" };
  assert.deepEqual(await kindOfRoot(), isDirectory);
  helper.kill("SIGUSR1");
  await pause(300);
  assert.deepEqual(await kindOfRoot(), isDirectory);
  assert.doesNotMatch(said, /Debugger/);
});

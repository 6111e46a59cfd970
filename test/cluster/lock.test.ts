import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { tryLock, withLock } from "./lock.ts";
import { pause } from "./wait.ts";

const own = (name: string) => `test ${process.pid} ${name}`;

test("a lock has one holder, and is free again after release", async () => {
  const unlock = await tryLock(own("once"));
  assert.ok(unlock);
  assert.equal(await tryLock(own("once")), undefined);
  const other = await tryLock(own("other"));
  assert.ok(other, "another name is another lock");
  await other();
  await unlock();
  const again = await tryLock(own("once"));
  assert.ok(again);
  await again();
});

test("withLock runs its callers one at a time, also after one fails", async () => {
  let inside = 0;
  let most = 0;
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await pause(5);
    inside -= 1;
    throw new Error("failed");
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => withLock(own("turns"), work)));
  assert.deepEqual([most, outcomes.every(({ status }) => status === "rejected")], [1, true]);
});

test("a lock is released when its holder is killed", async () => {
  const name = own("killed");
  const script = `import { tryLock } from ${JSON.stringify(import.meta.resolve("./lock.ts"))};
    console.log((await tryLock(${JSON.stringify(name)})) === undefined ? "taken" : "held");`;
  const holder = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(holder, "exit");
  const [said] = (await once(holder.stdout, "data")) as [Buffer];
  assert.equal(said.toString(), "held\n");
  assert.equal(await tryLock(name), undefined);
  holder.kill("SIGKILL");
  await exited;
  const unlock = await tryLock(name);
  assert.ok(unlock);
  await unlock();
});

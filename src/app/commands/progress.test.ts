import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { withProgress } from "./progress.ts";

function command(isInteractive: boolean) {
  const clock = new ManualClock();
  const lines: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const io = { clock, isInteractive, stderr: (text: string) => void lines.push(text) };
  return { clock, lines, resolve, reject, ended: withProgress(io, "Checking this host", () => promise) };
}

describe("withProgress", () => {
  test("names the activity after two seconds and then every ten, and nothing once the command has ended", async () => {
    const { clock, lines, resolve, ended } = command(true);
    await clock.advance(1_999);
    assert.deepEqual(lines, []);
    await clock.advance(1);
    await clock.advance(10_000);
    assert.deepEqual(lines, ["Checking this host (2 s)\n", "Checking this host (12 s)\n"]);
    resolve(1);
    assert.equal(await ended, 1);
    await clock.advance(60_000);
    assert.equal(lines.length, 2);
  });

  test("shows nothing when standard error is no terminal", async () => {
    const { clock, lines, resolve, ended } = command(false);
    await clock.advance(60_000);
    resolve(0);
    assert.deepEqual([await ended, lines], [0, []]);
  });

  test("passes a failure on and stops", async () => {
    const { clock, lines, reject, ended } = command(true);
    reject(new Error("no runtime"));
    await assert.rejects(ended, /no runtime/);
    await clock.advance(60_000);
    assert.deepEqual(lines, []);
  });
});

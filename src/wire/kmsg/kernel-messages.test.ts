import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pause } from "../../../test/cluster/wait.ts";
import { kernelMessagesContract } from "../../../test/contract/kernel-messages-contract.ts";
import { hostClock } from "../host/clock.ts";
import { createKernelMessages } from "./kernel-messages.ts";

const scratch = mkdtempSync(join(tmpdir(), "deckhand-kmsg-"));
after(() => rmSync(scratch, { recursive: true }));
/** Time runs a hundred times as fast. */
const clock = { ...hostClock, after: (ms: number, fire: () => void) => hostClock.after(ms / 100, fire) };
let made = 0;

kernelMessagesContract("a file like /dev/kmsg", async () => {
  made += 1;
  const path = join(scratch, String(made));
  let sequence = 41;
  writeFileSync(path, "no head\n");
  return {
    messages: createKernelMessages({ clock, path }),
    say: async (...lines) => {
      // Each line is followed by what the kernel adds about the device.
      for (const line of lines) appendFileSync(path, `6,${sequence++},1234567,-;${line}\n SUBSYSTEM=usb\n`);
    },
    close: async () => rmSync(path),
    pass: () => pause(100),
  };
});

test("messages split across writes to a pipe are joined", async () => {
  const path = join(scratch, "pipe");
  execFileSync("mkfifo", [path]);
  const stop = new AbortController();
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { text } of createKernelMessages({ clock, path }).follow(stop.signal)) seen.push(text);
  })();
  await pause(50);
  assert.deepEqual(seen, []);
  const writer = openSync(path, "w");
  for (const part of ["4,7,99,-;half ", "and half\n4,8,99,c;", "next\n"]) {
    writeSync(writer, part);
    await pause(50);
  }
  closeSync(writer);
  assert.deepEqual(seen, ["half and half", "next"]);
  stop.abort(new Error("enough"));
  await assert.rejects(reading, { message: "enough" });
});

test("/dev/kmsg of this machine is read in order of sequence numbers", async () => {
  const stop = new AbortController();
  const sequences: number[] = [];
  const reading = (async () => {
    for await (const { sequence, text } of createKernelMessages({ clock }).follow(stop.signal)) {
      assert.equal(typeof text, "string");
      sequences.push(sequence);
    }
  })();
  await pause(200);
  stop.abort(new Error("enough"));
  await assert.rejects(reading, { message: "enough" });
  assert.ok(sequences.length > 0);
  assert.ok(sequences.every((sequence, at) => at === 0 || sequence > (sequences[at - 1] ?? 0)));
});

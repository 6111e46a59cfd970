import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { FakeKernelMessages } from "../../../sim/fake-kernel-messages.ts";
import { FakeMachine } from "../../../sim/fake-machine.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { OOM_FILE_BYTES_MAX } from "../limits.ts";
import { runOomWatcher } from "./oom-watcher.ts";

const kill = (name: string, pid: number) => [
  `${name} invoked oom-killer: gfp_mask=0xcc0`,
  `oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=${name},pid=${pid},uid=0`,
  `Out of memory: Killed process ${pid} (${name}) total-vm:1kB`,
];
const inContainer = [
  "x invoked oom-killer: gfp_mask=0xcc0",
  "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a,task=x,pid=3,uid=0",
];
const reported = (name: string, pid: number) =>
  `n1 Warning SystemOOM System OOM encountered, victim process: ${name}, pid: ${pid}`;

function world() {
  const clock = new ManualClock();
  const messages = new FakeKernelMessages();
  const machine = new FakeMachine("n1");
  const disk = new FakeFiles({ clock });
  disk.makeDirectory("/r", 0o755);
  const events: string[] = [];
  const log = keptLog();
  const start = () => {
    const stop = new AbortController();
    const emit = (subject: { readonly name: string }, type: string, reason: string, message: string) =>
      void events.push(`${subject.name} ${type} ${reason} ${message}`);
    const ended = runOomWatcher(
      { messages, machine, files: disk.port, clock, events: { emit }, log, nodeName: "n1", reportedFile: "/r/oom" },
      stop.signal,
    );
    return async () => {
      await clock.advance(1);
      stop.abort(new Error("over"));
      await ended;
    };
  };
  return { clock, messages, machine, disk, events, log, start };
}

test("[1.22] a system OOM kill emits a Node event; a container at its memory limit does not", async () => {
  const { messages, events, start, clock } = world();
  const stop = start();
  messages.say("usb 1-1: new device", ...inContainer, ...kill("stress", 7));
  await clock.advance(1);
  messages.say(...kill("other", 8));
  await stop();
  assert.deepEqual(events, [reported("stress", 7), reported("other", 8)]);
});

test("[1.22] kills while no agent ran are reported by the next agent, each once", async () => {
  const { messages, events, start } = world();
  messages.say(...kill("early", 6));
  await start()();
  messages.say(...kill("between", 7));
  await start()();
  await start()();
  assert.deepEqual(events, [reported("early", 6), reported("between", 7)]);
});

test("kills after a reboot are reported although the kernel's message numbers start again", async () => {
  const { messages, machine, events, start } = world();
  messages.say(...kill("a", 6), ...kill("b", 7));
  await start()();
  messages.restart();
  machine.machine = { ...machine.machine, bootId: "another" };
  messages.say(...kill("c", 5));
  await start()();
  assert.deepEqual(events, [reported("a", 6), reported("b", 7), reported("c", 5)]);
});

test("an error while following kernel messages is retried, and no kill is reported twice", async () => {
  const { messages, events, log, start, clock } = world();
  const stop = start();
  messages.say(...kill("a", 6));
  await clock.advance(1);
  messages.trouble = "EIO";
  messages.say("x");
  await clock.advance(9_000);
  messages.trouble = undefined;
  messages.say(...kill("b", 7));
  await clock.advance(2_000);
  await stop();
  assert.deepEqual(events, [reported("a", 6), reported("b", 7)]);
  assert.match(log.lines.join("\n"), /Failed to follow the kernel's messages, retrying: EIO/);
});

test("an invalid position file is logged, and the kill is still reported", async () => {
  const { messages, disk, events, log, start } = world();
  await disk.port.writeAtomically("/r/oom", new TextEncoder().encode("{}"), 0o600);
  messages.say(...kill("a", 6));
  await start()();
  assert.deepEqual(events, [reported("a", 6)]);
  assert.match(
    log.lines.join("\n"),
    /E Failed to read the stored position in the kernel's messages: it is none of ours/,
  );
});

test("a position file larger than the limit is not read and the kill is reported again; one of exactly the limit is read", async () => {
  for (const [sizeBytes, times] of [
    [OOM_FILE_BYTES_MAX, 1],
    [OOM_FILE_BYTES_MAX + 1, 2],
  ] as const) {
    const { messages, disk, events, log, start } = world();
    messages.say(...kill("a", 6));
    await start()();
    const kept = Buffer.from(await disk.port.read("/r/oom", OOM_FILE_BYTES_MAX)).toString();
    await disk.port.writeAtomically("/r/oom", Buffer.from(kept.padEnd(sizeBytes)), 0o600);
    await start()();
    assert.deepEqual(events, Array(times).fill(reported("a", 6)));
    assert.equal(
      log.lines.filter((line) =>
        line.includes("Failed to read the stored position in the kernel's messages: read /r/oom: tooLarge"),
      ).length,
      times - 1,
    );
  }
});

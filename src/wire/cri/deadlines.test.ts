import assert from "node:assert/strict";
import { test } from "node:test";
import { DeadlineError } from "../../concurrency/deadline.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { RpcChannel } from "../grpc/rpc-channel.ts";
import type { Caller } from "./caller.ts";
import { runtimeContainers } from "./containers.ts";
import { imageStore } from "./images.ts";
import { runtimeSelf } from "./runtime-self.ts";
import { runtimeSandboxes } from "./sandboxes.ts";
import { runtimeStreams } from "./streams.ts";

/** A clock whose timers fire only on demand, and a runtime that never answers. */
function world(streamLists = false) {
  const timers = new Map<object, { readonly delayMs: number; readonly fire: () => void }>();
  const clock: Clock = {
    wallMs: () => 0,
    monotonicMs: () => 0,
    after: (delayMs, fire) => {
      const key = {};
      timers.set(key, { delayMs, fire });
      return () => timers.delete(key);
    },
  };
  const silent = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const channel: RpcChannel = {
    unary: (_method, _request, signal) => silent(signal),
    serverStream: async function* (_method, _request, signal) {
      yield await silent(signal);
    },
    close: () => {},
  };
  const caller: Caller = {
    channel,
    clock,
    requestLimitMs: 120_000,
    streamLists,
    unaryOnly: new Set(),
    onMalformed: (detail) => assert.fail(detail),
  };
  const runtime = {
    ...runtimeSelf(caller),
    ...runtimeSandboxes(caller),
    ...runtimeContainers(caller),
    ...runtimeStreams(caller),
  };
  return { runtime, images: imageStore(caller), timers };
}

const SANDBOX = { metadata: { name: "p", namespace: "ns", uid: "u", attempt: 0 } };

type Port = Pick<Runtime, keyof ReturnType<typeof world>["runtime"]> & Images;

const table: readonly (readonly [
  operation: string,
  limitMs: number,
  ask: (port: Port, s: AbortSignal) => Promise<unknown>,
])[] = [
  ["Version", 120_000, (port, s) => port.version(s)],
  ["RunPodSandbox", 240_000, (port, s) => port.runSandbox(SANDBOX, "", s)],
  ["StopPodSandbox", 120_000, (port, s) => port.stopSandbox("s", s)],
  ["ListContainers", 120_000, (port, s) => port.listContainers({}, s)],
  ["ReopenContainerLog", 120_000, (port, s) => port.reopenLog("c", s)],
  ["StopContainer", 150_000, (port, s) => port.stopContainer("c", 30, s)],
  ["ExecSync", 125_000, (port, s) => port.execSync("c", ["x"], 5, s)],
  ["CheckpointContainer", 130_000, (port, s) => port.checkpoint("c", "/x", 10, s)],
  ["ListImages", 120_000, (port, s) => port.listImages({}, s)],
];

/** The ids of operations whose deadline also has its own row. */
const ROWS: Readonly<Record<string, string>> = { RunPodSandbox: "[7.1]", StopContainer: "[7.14]" };

for (const [operation, limitMs, ask] of table) {
  test(`[27.3.10]${ROWS[operation] ?? ""} ${operation} fails with deadlineExceeded after ${limitMs / 1000} s when runtimeRequestTimeout is 120 s`, async () => {
    const { runtime, images, timers } = world();
    const call = ask({ ...runtime, ...images }, new AbortController().signal);
    const [timer, ...others] = timers.values();
    assert.deepEqual([timer?.delayMs, others.length], [limitMs, 0]);
    timer?.fire();
    await assert.rejects(call, { name: "RuntimeError", operation, code: "deadlineExceeded" });
    assert.equal(timers.size, 0);
  });
}

test("a streamed list has one deadline for all its messages", async () => {
  const { runtime, timers } = world(true);
  const call = runtime.listContainers({}, new AbortController().signal);
  const [timer, ...others] = timers.values();
  assert.deepEqual([timer?.delayMs, others.length], [120_000, 0]);
  timer?.fire();
  await assert.rejects(call, { operation: "StreamContainers", code: "deadlineExceeded" });
});

test("[27.3.10] PullImage, and ExecSync without a timeout, have no deadline but the caller's signal", async () => {
  const { runtime, images, timers } = world();
  const caller = new AbortController();
  const calls = [images.pullImage({ image: "i" }, {}, caller.signal), runtime.execSync("c", ["x"], 0, caller.signal)];
  assert.equal(timers.size, 0);
  caller.abort("enough");
  for (const call of calls) await assert.rejects(call, (error) => error === "enough");
});

test("a call that its caller aborts rejects with the caller's reason", async () => {
  const { runtime, timers } = world();
  const caller = new AbortController();
  const call = runtime.version(caller.signal);
  const reason = new DeadlineError(5);
  caller.abort(reason);
  await assert.rejects(call, (error) => error === reason);
  assert.equal(timers.size, 0);
});

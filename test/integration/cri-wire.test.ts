/**
 * Tests what the CRI client does on the wire, which needs a real socket: authority, message sizes, cancelled calls,
 * broken connections and reconnecting. Also tests that the client leaves nothing behind.
 */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { RuntimeErrorCode } from "../../src/ports/runtime-error.ts";
import { type CriOptions, connectCri } from "../../src/wire/cri/client.ts";
import { RuntimeService } from "../../src/wire/cri/gen/api_pb.js";
import { openGrpcChannel } from "../../src/wire/grpc/grpc-channel.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { failure, patient } from "../contract/runtime-world.ts";
import { aborted, type CriAnswers, serveCri, socketDirectory } from "./cri-server.ts";

const VERSION = { version: "0.1.0", runtimeName: "told", runtimeVersion: "1.0", runtimeApiVersion: "v1" };

function client(t: TestContext, endpoint: string, options: Partial<CriOptions> = {}) {
  const made = connectCri({ endpoint, onMalformed: (detail) => assert.fail(detail), ...options }, hostClock);
  t.after(() => made.close());
  return made;
}

async function served(t: TestContext, answers: CriAnswers, options: Partial<CriOptions> = {}) {
  const server = await serveCri(t, answers);
  return { ...client(t, server.endpoint, options), server };
}

test("every call has the authority localhost", async (t) => {
  const seen: string[] = [];
  const { runtime } = await served(t, {
    version: (_request, { authority }) => {
      seen.push(authority);
      return VERSION;
    },
  });
  await runtime.version(patient);
  assert.deepEqual(seen, ["localhost"]);
});

test("a supported checkpoint succeeds, and its location and timeout are passed on", async (t) => {
  const seen: unknown[] = [];
  const { runtime } = await served(t, {
    checkpointContainer: ({ containerId, location, timeout }) => {
      seen.push([containerId, location, timeout]);
      return {};
    },
  });
  await runtime.checkpoint("c", "/where", 7, patient);
  assert.deepEqual(seen, [["c", "/where", 7n]]);
});

test("every gRPC code becomes its RuntimeErrorCode, with the operation and the server's message", async (t) => {
  const words: readonly RuntimeErrorCode[] = [
    "cancelled",
    "unknown",
    "invalidArgument",
    "deadlineExceeded",
    "notFound",
    "alreadyExists",
    "permissionDenied",
    "resourceExhausted",
    "failedPrecondition",
    "aborted",
    "outOfRange",
    "unimplemented",
    "internal",
    "unavailable",
    "dataLoss",
    "unauthenticated",
  ];
  let code = 0;
  const { runtime } = await served(t, {
    version: () => {
      code += 1;
      throw { code, details: `said ${code}` };
    },
  });
  for (const [index, word] of words.entries()) {
    const message = `Version: said ${index + 1}`;
    await assert.rejects(runtime.version(patient), { ...failure("Version", word), message });
  }
});

test("the image service may have a separate endpoint", async (t) => {
  const images = await serveCri(t, { imageFsInfo: () => ({}) });
  const runtime = await serveCri(t, { version: () => VERSION });
  const both = client(t, runtime.endpoint, { imageEndpoint: images.endpoint });
  await both.runtime.version(patient);
  await both.images.imageFilesystems(patient);
  assert.deepEqual([runtime.calls, images.calls], [["Version"], ["ImageFsInfo"]]);
});

test("a response of 15 MiB is read, one of 17 MiB fails with resourceExhausted, and the connection stays open", async (t) => {
  let mebibytes = 15;
  const { runtime } = await served(t, {
    version: () => VERSION,
    execSync: () => ({ stdout: new Uint8Array(mebibytes * 2 ** 20).fill(97) }),
  });
  const { stdout } = await runtime.execSync("c", ["x"], 5, patient);
  assert.equal(stdout.length, 15 * 2 ** 20);
  mebibytes = 17;
  await assert.rejects(runtime.execSync("c", ["x"], 5, patient), failure("ExecSync", "resourceExhausted"));
  await runtime.version(patient);
});

test("a request of 15 MiB is sent, one of 17 MiB fails with resourceExhausted before it is sent", async (t) => {
  const { runtime, server } = await served(t, { execSync: () => ({}) });
  await runtime.execSync("c", ["x".repeat(15 * 2 ** 20)], 5, patient);
  const tooMuch = runtime.execSync("c", ["x".repeat(17 * 2 ** 20)], 5, patient);
  await assert.rejects(tooMuch, failure("ExecSync", "resourceExhausted"));
  assert.equal(server.calls.length, 1);
});

test("a request that cannot be encoded fails with invalidArgument before it is sent", async (t) => {
  const { runtime, server } = await served(t, { portForward: () => ({ url: "http://u" }) });
  await assert.rejects(runtime.portForward("s", [2 ** 40], patient), failure("PortForward", "invalidArgument"));
  assert.deepEqual(server.calls, []);
});

test("200 concurrent calls each get their own response", async (t) => {
  const { runtime } = await served(t, { exec: ({ containerId }) => ({ url: `http://${containerId}` }) });
  const options = { stdin: false, stdout: true, stderr: true, tty: false };
  const ids = Array.from({ length: 200 }, (_, index) => `c${index}`);
  const urls = await Promise.all(ids.map((id) => runtime.exec(id, ["x"], options, patient)));
  assert.deepEqual(
    urls,
    ids.map((id) => `http://${id}`),
  );
});

test("a caller's abort and a passed deadline both cancel the call on the wire", async (t) => {
  let cancelled = 0;
  const { runtime } = await served(
    t,
    {
      version: async (_request, call) => {
        await aborted(call.cancelled);
        cancelled += 1;
        return VERSION;
      },
    },
    { requestLimitMs: 300 },
  );
  const caller = new AbortController();
  const call = runtime.version(caller.signal);
  await pause(100);
  caller.abort("enough");
  await assert.rejects(call, (error) => error === "enough");
  await waitUntil("the first cancel to arrive", 2_000, async () => cancelled === 1);
  await assert.rejects(runtime.version(patient), failure("Version", "deadlineExceeded"));
  await waitUntil("the second cancel to arrive", 2_000, async () => cancelled === 2);
});

test("leaving the loop over events cancels the stream on the wire", async (t) => {
  let ended = false;
  const { runtime } = await served(t, {
    getContainerEvents: async function* (_request, call) {
      yield { containerId: "c", createdAt: 1n };
      await aborted(call.cancelled);
      ended = true;
    },
  });
  for await (const { containerId } of runtime.events(patient)) {
    assert.equal(containerId, "c");
    break;
  }
  await waitUntil("the cancel to arrive", 2_000, async () => ended);
});

test("events are received from the call on, before the first read", async (t) => {
  const { runtime, server } = await served(t, {
    getContainerEvents: async function* () {
      yield { containerId: "c", createdAt: 1n };
    },
  });
  const events = runtime.events(patient);
  await waitUntil("the call to arrive", 2_000, async () => server.calls.length === 1);
  await pause(50);
  const kinds: string[] = [];
  for await (const { kind } of events) kinds.push(kind);
  assert.deepEqual(kinds, ["created"]);
});

test("a reader too slow for the events gets the buffered ones, then resourceExhausted; the stream is cancelled", async (t) => {
  let ended = false;
  const { runtime } = await served(
    t,
    {
      getContainerEvents: async function* (_request, call) {
        for (let at = 1n; at <= 100n; at += 1n) yield { containerId: `c${at}`, createdAt: at };
        await aborted(call.cancelled);
        ended = true;
      },
    },
    { eventsMax: 10 },
  );
  const events = runtime.events(patient);
  await waitUntil("the cancel to arrive", 2_000, async () => ended);
  const read: string[] = [];
  const reading = (async () => {
    for await (const { containerId } of events) read.push(containerId);
  })();
  await assert.rejects(reading, failure("GetContainerEvents", "resourceExhausted"));
  assert.deepEqual(
    read,
    Array.from({ length: 10 }, (_, index) => `c${index + 1}`),
  );
});

test("a runtime without events fails with unimplemented", async (t) => {
  const { runtime } = await served(t, { version: () => VERSION });
  const reading = (async () => {
    for await (const event of runtime.events(patient)) assert.fail(event.kind);
  })();
  await assert.rejects(reading, failure("GetContainerEvents", "unimplemented"));
});

test("a stream that failed before it was read rejects instead of ending empty", async (t) => {
  const { endpoint } = await serveCri(t, { version: () => VERSION });
  const channel = openGrpcChannel({ endpoint, messageBytesMax: 2 ** 20 });
  t.after(() => channel.close());
  const stream = channel.serverStream(RuntimeService.method.getContainerEvents, {}, patient);
  await pause(100);
  const reading = (async () => {
    for await (const message of stream) assert.fail(message.containerId);
  })();
  await assert.rejects(reading, { name: "RpcError", code: 12 });
});

test("calls without a socket fail at once as unavailable; once it exists, a call succeeds within the reconnect backoff", async (t) => {
  const socket = join(await socketDirectory(t), "late.sock");
  const { runtime } = client(t, `unix://${socket}`);
  const startMs = hostClock.monotonicMs();
  await assert.rejects(runtime.version(patient), failure("Version", "unavailable"));
  assert.ok(hostClock.monotonicMs() - startMs < 500);
  await pause(2_000);
  await serveCri(t, { version: () => VERSION }, socket);
  const servedMs = hostClock.monotonicMs();
  await waitUntil("an answer", 4_500, () => runtime.version(patient).then(() => true));
  assert.ok(hostClock.monotonicMs() - servedMs < 4_000);
});

test("a connection cut at any byte of the response fails the call as unavailable, and the next call uses a new one", async (t) => {
  const stdout = new Uint8Array(100_000).fill(97);
  const server = await serveCri(t, { execSync: () => ({ stdout, exitCode: 4 }) });
  const proxy = await cuttingProxy(t, server.endpoint);
  for (const bytesMax of [0, 1, 9, 40, 60, 100, 200, 5_000, 65_000, 99_000]) {
    const { runtime } = client(t, proxy.endpoint);
    proxy.cutAfter(bytesMax);
    await assert.rejects(
      runtime.execSync("c", ["x"], 5, patient),
      failure("ExecSync", "unavailable"),
      `cut after ${bytesMax}`,
    );
    proxy.cutAfter(Number.POSITIVE_INFINITY);
    let answer: { readonly exitCode: number } | undefined;
    await waitUntil("a new connection", 2_000, async () => {
      answer = await runtime.execSync("c", ["x"], 5, patient);
      return true;
    });
    assert.equal(answer?.exitCode, 4);
  }
});

test("a server that does not speak HTTP/2 is unavailable", async (t) => {
  const socket = join(await socketDirectory(t), "noise.sock");
  const noise = createServer((connection) => {
    connection.on("error", () => {});
    connection.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  await new Promise<void>((resolve) => noise.listen(socket, resolve));
  t.after(() => noise.close());
  await assert.rejects(client(t, `unix://${socket}`).runtime.version(patient), failure("Version", "unavailable"));
});

test("1 000 calls, with failed, aborted and late ones, and 50 event streams leave no handle behind", async (t) => {
  const { runtime, images, server } = await served(t, {
    version: () => VERSION,
    listContainers: () => ({}),
    status: async (_request, call) => {
      await aborted(call.cancelled);
      return {};
    },
    execSync: () => ({}),
    pullImage: () => ({ imageRef: "i" }),
    imageFsInfo: () => ({}),
    getContainerEvents: async function* (_request, call) {
      yield { containerId: "c", createdAt: 1n };
      await aborted(call.cancelled);
    },
  });
  const hasty = client(t, server.endpoint, { requestLimitMs: 5 }).runtime;
  const life = new AbortController().signal;
  const round = async (calls: number, streams: number) => {
    for (let index = 0; index < calls; index += 10) {
      await Promise.all([
        ...Array.from({ length: 3 }, () => runtime.version(life)),
        runtime.execSync("c", ["x"], 0, life),
        images.pullImage({ image: "i" }, {}, life),
        runtime.listContainers({}, life),
        images.imageFilesystems(life),
        assert.rejects(runtime.cgroupDriver(life), failure("RuntimeConfig", "unimplemented")),
        assert.rejects(hasty.status({ verbose: false }, life), failure("Status", "deadlineExceeded")),
        assert.rejects(runtime.version(AbortSignal.abort("enough")), (error) => error === "enough"),
      ]);
    }
    for (let index = 0; index < streams; index += 1) {
      const reader = runtime.events(life)[Symbol.asyncIterator]();
      await reader.next();
      await reader.return?.();
    }
    await pause(200);
  };
  await round(50, 5);
  const before = resources();
  await round(1_000, 50);
  await waitUntil("every handle to go", 3_000, async () => JSON.stringify(resources()) === JSON.stringify(before));
  assert.equal(getEventListeners(life, "abort").length, 0);
  assert.ok(server.calls.length > 800);
});

test("a closed client leaves no handle behind", async (t) => {
  const server = await serveCri(t, { version: () => VERSION });
  await pause(50);
  const before = resources();
  const made = connectCri({ endpoint: server.endpoint, onMalformed: () => {} }, hostClock);
  await made.runtime.version(patient);
  made.close();
  await waitUntil("the handles to go", 2_000, async () => JSON.stringify(resources()) === JSON.stringify(before));
});

/** Active resources of the event loop, counted by kind. */
function resources(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo().sort()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Forwards everything, but at most `bytesMax` bytes of each connection's responses. */
async function cuttingProxy(t: TestContext, endpoint: string) {
  const socket = join(await socketDirectory(t), "cut.sock");
  const open = new Set<Socket>();
  let bytesMax = Number.POSITIVE_INFINITY;
  const proxy = createServer((near) => {
    const far = connect(endpoint.slice("unix://".length));
    let left = bytesMax;
    for (const end of [near, far]) {
      open.add(end);
      end.on("error", () => {});
      end.on("close", () => {
        open.delete(end);
        near.destroy();
        far.destroy();
      });
    }
    near.on("data", (chunk) => far.write(chunk));
    far.on("data", (chunk: Buffer) => {
      const passed = chunk.subarray(0, left);
      left -= passed.length;
      near.write(passed, () => (left <= 0 ? near.destroy() : undefined));
    });
  });
  await new Promise<void>((resolve) => proxy.listen(socket, resolve));
  t.after(async () => {
    proxy.close();
    for (const end of open) end.destroy();
    await rm(socket, { force: true });
  });
  return {
    endpoint: `unix://${socket}`,
    cutAfter: (bytes: number) => {
      bytesMax = bytes;
    },
  };
}

import assert from "node:assert/strict";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { directoryOf } from "../../test/support/options.ts";
import { keptLog } from "../../test/support/quiet-log.ts";
import { type LocalRoute, localSocketPath, runLocalSocket } from "../server/local-socket.ts";
import { HttpError } from "../server/route.ts";
import { hostClock } from "../wire/host/clock.ts";
import { createHostFiles } from "../wire/host/files.ts";
import { askAgent } from "./ask-agent.ts";

const routes: readonly LocalRoute[] = [
  { path: "/echo", answer: async (query) => ({ query: Object.fromEntries(query) }) },
  { path: "/broken", answer: () => Promise.reject(new Error("the runtime is down")) },
  { path: "/amounts", answer: () => Promise.reject(new HttpError(400, "x is no amount")) },
];

function rootOf(t: TestContext): string {
  const root = directoryOf(t, {});
  mkdirSync(`${root}/deckhand`);
  return root;
}

/** Serves the routes until the test ends. */
async function serve(t: TestContext, root: string) {
  const end = new AbortController();
  const log = keptLog();
  const files = createHostFiles({ clock: hostClock });
  const running = runLocalSocket(localSocketPath(root), { clock: hostClock, log, files, routes }, end.signal);
  const stop = async () => {
    end.abort(new Error("over"));
    await running;
  };
  t.after(stop);
  while (log.lines.length === 0) await new Promise((resolve) => void hostClock.after(5, () => resolve(undefined)));
  return { log, stop };
}

describe("the agent's local socket", () => {
  test("[9.10] answers a command, only for the agent's user", async (t) => {
    const root = rootOf(t);
    await serve(t, root);
    assert.equal(statSync(localSocketPath(root)).mode & 0o777, 0o600);
    assert.deepEqual(await askAgent(root, "/echo?pod=a%2Fb"), {
      kind: "answered",
      body: '{"query":{"pod":"a/b"}}\n',
    });
  });

  test("[9.10] reports an unknown route, a failure, and an agent that does not run", async (t) => {
    const root = rootOf(t);
    const path = localSocketPath(root);
    assert.deepEqual(await askAgent(root, "/echo"), { kind: "noAgent", path });
    const { stop } = await serve(t, root);
    assert.deepEqual(await askAgent(root, "/nothing"), {
      kind: "failed",
      why: "the agent answered 404: 404 page not found",
    });
    assert.deepEqual(await askAgent(root, "/broken"), {
      kind: "failed",
      why: "the agent answered 500: the runtime is down",
    });
    await stop();
    assert.deepEqual(await askAgent(root, "/echo"), { kind: "noAgent", path });
  });

  test("[17.5] refuses a request that cannot be answered, without an error in the log", async (t) => {
    const root = rootOf(t);
    const { log } = await serve(t, root);
    assert.deepEqual(await askAgent(root, "/amounts"), { kind: "refused", why: "x is no amount" });
    assert.deepEqual(
      log.lines.filter((line) => line.includes("Failed")),
      [],
    );
    await askAgent(root, "/broken");
    assert.equal(log.lines.filter((line) => line.includes("Failed")).length, 1);
  });

  test("[9.10] replaces the socket of an agent that has died, and any file in its place", async (t) => {
    const root = rootOf(t);
    const path = localSocketPath(root);
    writeFileSync(path, "");
    assert.deepEqual(await askAgent(root, "/echo"), { kind: "noAgent", path });
    await serve(t, root);
    assert.equal((await askAgent(root, "/echo")).kind, "answered");
  });

  test("[9.10] changes nothing: it answers GET only", async (t) => {
    const root = rootOf(t);
    await serve(t, root);
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    request({ socketPath: localSocketPath(root), path: "/echo", method: "POST" }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).end();
    assert.equal(await promise, 405);
  });

  test("[9.10] a root directory whose socket's path is too long is reported, and the agent runs on", async () => {
    const root = `/${"long/".repeat(20)}`;
    const log = keptLog();
    const files = { removeFile: () => assert.fail("it must not try"), setMode: () => assert.fail("it must not try") };
    await runLocalSocket(localSocketPath(root), { clock: hostClock, log, files, routes }, new AbortController().signal);
    assert.match(log.lines.join(), /a socket's path at most 107; use a shorter --root-dir/);
    const answer = await askAgent(root, "/echo");
    assert.ok(answer.kind === "failed" && answer.why.includes("use a shorter --root-dir"), answer.kind);
  });

  test("[9.10] an agent that closes the connection without an answer is reported as a failure", async (t) => {
    const root = rootOf(t);
    const server = createServer((socket) => void socket.destroy());
    await new Promise<void>((resolve) => server.listen(localSocketPath(root), resolve));
    t.after(() => server.close());
    const answer = await askAgent(root, "/echo");
    assert.equal(answer.kind, "failed");
  });
});

import assert from "node:assert/strict";
import { createServer, get, type Server, type ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { FakeFiles } from "../../sim/fake-files.ts";
import { FakeLogFiles } from "../../sim/fake-log-files.ts";
import { diskLogs } from "../../sim/world-files.ts";
import { waitUntil } from "../../test/cluster/wait.ts";
import { container, instance, pod, view } from "../../test/support/pods.ts";
import { keptLog } from "../../test/support/quiet-log.ts";
import type { ContainerStatus, Pod } from "../api/gen/core-v1.ts";
import { LatestTable } from "../concurrency/latest-table.ts";
import type { PodRuntimeView } from "../domain/pod/runtime-view.ts";
import type { LogFiles } from "../ports/log-files.ts";
import { RuntimeError } from "../ports/runtime-error.ts";
import { hostClock } from "../wire/host/clock.ts";
import { containerLogs } from "./container-logs.ts";
import { HttpError } from "./route.ts";

const directory = "/logs";
const files = new FakeFiles({ clock: hostClock });
const append = (path: string, text: string) => diskLogs(files).open(path).append(Buffer.from(text));
let openFiles = 0;
let server: Server;
let shown: Pod | undefined;
/** Belongs to the most recent client. */
let client = new AbortController();
let answer: ServerResponse;
const podRuntimeStatus = new LatestTable<string, PodRuntimeView>();
const log = keptLog();

before(async () => {
  const route = containerLogs({
    clock: hostClock,
    log,
    logFiles: counted(new FakeLogFiles(files)),
    files: files.port,
    runtime: {
      containerStatus: (id) =>
        id === "gone"
          ? Promise.reject(new RuntimeError("ContainerStatus", "notFound", "no such container"))
          : Promise.resolve({ status: { ...instance("app", "running"), id, logPath: `${directory}/${id}` }, info: {} }),
    },
    podRuntimeStatus,
    podNamed: (namespace, name) => (namespace === "default" && name === "p" ? shown : undefined),
    splitStreams: true,
  });
  server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://node");
    const [, , namespace = "", podName = "", name = ""] = url.pathname.split("/");
    const gone = new AbortController();
    client = gone;
    answer = response;
    response.on("close", () => gone.abort(new Error("the client is gone")));
    const parts = { namespace, pod: podName, container: name };
    const asked = { request, parts, query: url.searchParams, signal: gone.signal };
    route.answer(asked, response).catch((error: unknown) => {
      response.statusCode = error instanceof HttpError ? error.status : 500;
      response.end(String(error instanceof Error ? error.message : error));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", () => resolve()));
});

after(() => {
  server.closeAllConnections();
  server.close();
});

const status = (name: string, id: string, state: "running" | "waiting" = "running"): ContainerStatus => ({
  name,
  image: "",
  imageID: "",
  ready: true,
  restartCount: 0,
  containerID: `containerd://${id}`,
  state: state === "running" ? { running: {} } : { waiting: { reason: "ContainerCreating" } },
  lastState: {},
});

const showing = (...containerStatuses: readonly ContainerStatus[]): Pod => ({
  ...pod({ containers: [container("app")], initContainers: [container("first")] }),
  status: { containerStatuses: [...containerStatuses], initContainerStatuses: [status("first", "first")] },
});

const line = (text: string, stream = "stdout") => `2026-01-02T03:04:05Z ${stream} F ${text}\n`;

function ask(path: string, onData: (text: string) => void = () => {}) {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return new Promise<{ status: number; body: string; type: string | undefined }>((resolve, reject) => {
    const sent = get({ port, path: `/containerLogs/${path}` }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        body += text;
        onData(body);
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body, type: response.headers["content-type"] }),
      );
      response.on("error", reject);
    });
    sent.on("error", reject);
  });
}

test("[20.11] unknown pods and containers are 404, a waiting container is 400", async () => {
  shown = showing(status("app", "a", "waiting"));
  const asked = async (path: string) => {
    const { status: code, body } = await ask(path);
    return `${code} ${body}`;
  };
  assert.equal(await asked("default/q/app"), '404 pod "q" does not exist');
  assert.equal(await asked("other/p/app"), '404 pod "p" does not exist');
  assert.equal(await asked("default/p/none"), '404 container "none" not found in pod "p"');
  assert.equal(await asked("default/p/app"), '400 container "app" in pod "p" is waiting to start: ContainerCreating');
  assert.equal(await asked("default/p/app?tailLines=-1"), '422 {"message": "Invalid request."}');
  assert.equal(await asked("default/q/app?tailLines=x"), '400 {"message": "Unable to decode query."}');
});

test("[19.4] the log of an init container can be read", async () => {
  shown = showing(status("app", "a"));
  append(`${directory}/first`, line("set up"));
  assert.deepEqual(await ask("default/p/first"), { status: 200, body: "set up\n", type: undefined });
});

test("[19.5] the query parameter stream selects one stream when the feature gate is on", async () => {
  shown = showing(status("app", "split"));
  append(`${directory}/split`, line("out") + line("err", "stderr"));
  assert.equal((await ask("default/p/app?stream=Stderr")).body, "err\n");
  assert.equal((await ask("default/p/app?stream=All")).body, "out\nerr\n");
});

test("[19.4] a container missing from the runtime is reported in the body of a 200 response", async () => {
  shown = showing(status("app", "gone"));
  const { status: code, body } = await ask("default/p/app");
  assert.equal(`${code} ${body}`, "200 unable to retrieve container logs for containerd://gone");
});

test("[19.4] a follower gets each line as it is written, and ends with the container", async () => {
  shown = showing(status("app", "followed"));
  const { uid = "" } = shown.metadata ?? {};
  const running = { ...instance("app", "running"), id: "followed" };
  podRuntimeStatus.set(uid, view([], [running]));
  const path = `${directory}/followed`;
  append(path, line("one"));
  let written = 1;
  const { body } = await ask("default/p/app?follow=true", (text) => {
    if (text.split("\n").length - 1 < written) return;
    written += 1;
    if (written <= 5) append(path, line(String(written)));
    else podRuntimeStatus.set(uid, view([], [{ ...running, state: "exited" }]));
  });
  assert.equal(body, "one\n2\n3\n4\n5\n");
});

test("slow or disconnected clients do not block others", async () => {
  shown = showing(status("app", "large"));
  const path = `${directory}/large`;
  append(path, line("x".repeat(1000)).repeat(20_000));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const sent = get({ port, path: "/containerLogs/default/p/app?follow=true" }, (response) => response.pause());
  sent.on("error", () => {});
  await waitUntil("a piece that nobody takes", 10_000, async () => answer.writableNeedDrain);
  assert.equal(openFiles, 1);
  // Of 20 MB only one chunk is in flight; the rest stays in the file.
  assert.ok(answer.writableLength > 0 && answer.writableLength < 1e6, String(answer.writableLength));
  const left = new Promise((resolve) => client.signal.addEventListener("abort", resolve));
  sent.destroy();
  await left;
  await waitUntil("its log to be closed", 10_000, async () => openFiles === 0);
  const whole = await ask("default/p/app");
  assert.equal(whole.body.length, 1001 * 20_000);
  assert.deepEqual(
    log.lines.filter((text) => text.startsWith("E")),
    [],
  );
});

/** Counts the open logs in `openFiles`. */
function counted(logFiles: LogFiles): Pick<LogFiles, "open" | "openCompressed" | "identityAt"> {
  return {
    openCompressed: (path) => logFiles.openCompressed(path),
    identityAt: (path) => logFiles.identityAt(path),
    open: async (path) => {
      const opened = await logFiles.open(path);
      if (opened === undefined) return undefined;
      openFiles += 1;
      const close = async () => {
        openFiles -= 1;
        await opened[Symbol.asyncDispose]();
      };
      return { ...opened, [Symbol.asyncDispose]: close };
    },
  };
}

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { askRoute } from "../../../test/support/ask-route.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { type PodOfTest, type StreamWorld, streamWorld } from "../../../test/support/stream-world.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { CONTAINER_CHECKPOINTS_BYTES_MAX, CONTAINER_CHECKPOINTS_MAX } from "../limits.ts";
import type { CheckpointParts } from "./checkpoint.ts";

const DIRECTORY = "/var/lib/kubelet/checkpoints";
const PATH = "/checkpoint/default/web/app";

interface CheckpointWorld extends StreamWorld {
  readonly files: HostFiles;
  readonly asked: readonly string[];
}

async function checkpointWorld(
  t: TestContext,
  {
    checkpoint,
    pods,
  }: { readonly checkpoint?: CheckpointParts["runtime"]["checkpoint"]; readonly pods?: readonly PodOfTest[] } = {},
): Promise<CheckpointWorld> {
  const clock = new ManualClock();
  await clock.advance(Date.UTC(2026, 10, 15, 9, 8, 7, 654));
  const files = new FakeFiles({ clock }).port;
  await files.makeDirectory(DIRECTORY, 0o700);
  const asked: string[] = [];
  const write = async (id: string, location: string, seconds: number) => {
    asked.push(`${id} ${seconds}`);
    await files.writeNew(location, new Uint8Array(10), { mode: 0o600 });
  };
  const checkpoints = {
    runtime: { checkpoint: checkpoint ?? write },
    files,
    clock,
    directory: DIRECTORY,
    requestLimitMs: 120_000,
  };
  const world = await streamWorld(t, { checkpoints, ...(pods === undefined ? {} : { pods }) });
  return { ...world, files, asked };
}

void test("[20.14][27.1.30] a checkpoint is named after pod, namespace, container and time, and the response names it", async (t) => {
  const world = await checkpointWorld(t);
  const answer = await askRoute(world.server, "POST", PATH);
  const name = "checkpoint-web_default-app-2026-11-15T09:08:07Z.tar";
  assert.deepEqual(answer, { status: 200, type: "application/json", body: `{"items":["${DIRECTORY}/${name}"]}` });
  assert.deepEqual(await world.files.list(DIRECTORY), [name]);
});

void test("[20.14] the last timeout parameter can extend the runtime's request limit", async (t) => {
  const world = await checkpointWorld(t);
  for (const query of ["", "?timeout=5", "?timeout=5&timeout=600"]) {
    await askRoute(world.server, "POST", PATH + query);
    for (const name of await world.files.list(DIRECTORY)) await world.files.removeFile(`${DIRECTORY}/${name}`);
  }
  assert.deepEqual(world.asked, ["app-of-uid-1 120", "app-of-uid-1 120", "app-of-uid-1 600"]);
});

void test("[20.14] an unknown pod or container is 404, a failure of the runtime 500 with its message", async (t) => {
  const refuse = () => Promise.reject(new RuntimeError("CheckpointContainer", "unimplemented", "no such method"));
  const world = await checkpointWorld(t, { checkpoint: refuse });
  const ended = await checkpointWorld(t, { pods: [{ state: "exited" }] });
  for (const [asked, path, status, text] of [
    [world, "/checkpoint/default/none/app", 404, "pod does not exist"],
    [world, "/checkpoint/default/web/none", 404, "container none does not exist"],
    [world, `${PATH}?timeout=1.5`, 404, "cannot parse value of timeout parameter"],
    [world, `${PATH}?timeout=-1`, 500, failedWith("CheckpointContainer requires the timeout value to be > 0")],
    [world, PATH, 500, failedWith("rpc error: code = Unimplemented desc = no such method")],
    [ended, PATH, 500, failedWith("container app not found")],
  ] as const) {
    const { status: found, body } = await askRoute(asked.server, "POST", path);
    assert.deepEqual([found, body], [status, text]);
  }
});

const failedWith = (why: string) => `checkpointing of default/web/app failed (${why})`;

void test("checkpoints are limited to one at a time and to a maximum of files (CVE-2025-0426)", async (t) => {
  const { promise: allowed, resolve: allow } = Promise.withResolvers<void>();
  const slow = await checkpointWorld(t, { checkpoint: () => allowed });
  const first = askRoute(slow.server, "POST", PATH);
  let second = await askRoute(slow.server, "POST", PATH);
  // The request that arrived first is in progress.
  allow();
  if (second.status === 200) second = await first;
  assert.deepEqual([second.status, second.body], [429, "another checkpoint is being made"]);
  const many = await checkpointWorld(t);
  for (let count = 1; count < CONTAINER_CHECKPOINTS_MAX; count += 1) {
    await many.files.writeNew(`${DIRECTORY}/${count}.tar`, new Uint8Array(1), { mode: 0o600 });
  }
  assert.equal((await askRoute(many.server, "POST", PATH)).status, 200);
  const refused = await askRoute(many.server, "POST", PATH);
  const full = `${DIRECTORY} holds ${CONTAINER_CHECKPOINTS_MAX} files, no more are made`;
  assert.deepEqual([refused.status, refused.body], [500, failedWith(full)]);
  assert.equal(many.asked.length, 1);
});

void test("a directory that holds too many bytes gets no more checkpoints", async (t) => {
  const world = await checkpointWorld(t);
  await world.files.writeNew(`${DIRECTORY}/a.tar`, new Uint8Array(1), { mode: 0o600 });
  const real = world.files.facts.bind(world.files);
  let sizeBytes = CONTAINER_CHECKPOINTS_BYTES_MAX - 1;
  world.files.facts = async (path) => {
    const found = await real(path);
    return found === undefined || !path.endsWith("/a.tar") ? undefined : { ...found, sizeBytes };
  };
  assert.equal((await askRoute(world.server, "POST", PATH)).status, 200);
  sizeBytes += 1;
  const { status, body } = await askRoute(world.server, "POST", PATH);
  const full = `${DIRECTORY} holds ${CONTAINER_CHECKPOINTS_BYTES_MAX} bytes, no more are made`;
  assert.deepEqual([status, body], [500, failedWith(full)]);
});

void test("the checkpoint route does not exist without the feature gate", async (t) => {
  const world = await streamWorld(t);
  assert.equal((await askRoute(world.server, "POST", PATH)).status, 404);
});

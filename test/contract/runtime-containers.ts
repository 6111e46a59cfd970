/** Contract: containers from creation to removal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  containerConfig,
  createContainer,
  ended,
  failure,
  patient,
  type RuntimeWorld,
  runSandbox,
  startContainer,
  statusOf,
  took,
} from "./runtime-world.ts";

/** Until this long after its start, a program may not handle signals yet; long enough also on a busy machine. */
const HEEDING_MS = 2_000;

export function containerContract(world: () => RuntimeWorld): void {
  test("a created container reports its config, and has no start and no finish time", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const changes = { labels: { app: "a" }, annotations: { note: "b" }, metadata: { name: "a", attempt: 3 } };
    const id = await createContainer(world(), sandbox, "a", { kind: "untilKill" }, changes);
    const status = await statusOf(world(), id);
    assert.equal(status.id, id);
    assert.equal(status.state, "created");
    assert.deepEqual(status.metadata, changes.metadata);
    assert.deepEqual(status.labels, changes.labels);
    assert.deepEqual(status.annotations, changes.annotations);
    assert.ok(status.createdWallNs > 0n);
    assert.ok(!("startedWallNs" in status) && !("finishedWallNs" in status));
    assert.ok(status.logPath.startsWith(sandbox.config.logDirectory ?? "?"));
    assert.notEqual(status.imageRef, "");
  });

  test("a started container is running, with a start time and no finish time", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    const status = await statusOf(world(), id);
    assert.equal(status.state, "running");
    assert.ok((status.startedWallNs ?? 0n) >= status.createdWallNs);
    assert.ok(!("finishedWallNs" in status));
  });

  for (const [name, program, exitCode, reason] of [
    ["that ends well has code 0 and reason Completed", { kind: "exit", code: 0 }, 0, "Completed"],
    ["that ends badly has its code and reason Error", { kind: "exit", code: 3 }, 3, "Error"],
    ["that ends by a signal has 128 and its number", { kind: "killSelf" }, 137, "Error"],
  ] as const) {
    test(`a container ${name}`, async (t) => {
      const sandbox = await runSandbox(world(), t);
      const status = await ended(world(), await startContainer(world(), sandbox, "a", program));
      assert.deepEqual([status.exitCode, status.reason], [exitCode, reason]);
      assert.ok((status.startedWallNs ?? 0n) >= status.createdWallNs);
      assert.ok((status.finishedWallNs ?? 0n) >= status.createdWallNs);
    });
  }

  test("finish time is after start time once a container has run for a while (a very short run may be stamped in reverse)", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "exitAfter", delayMs: 300, code: 0 });
    const { createdWallNs, startedWallNs = 0n, finishedWallNs = 0n } = await ended(world(), id);
    assert.ok(createdWallNs <= startedWallNs && startedWallNs < finishedWallNs);
  });

  test("a container above its memory limit is killed with reason OOMKilled", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const resources = { memoryLimitBytes: 16n * 2n ** 20n };
    const id = await startContainer(world(), sandbox, "a", { kind: "eatMemory" }, { resources });
    const { exitCode, reason } = await ended(world(), id);
    assert.deepEqual([exitCode, reason], [137, "OOMKilled"]);
  });

  test("createContainer returns failedPrecondition while a container has the name, even if exited; the next attempt works", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const first = await startContainer(world(), sandbox, "a", { kind: "exit", code: 0 });
    await ended(world(), first);
    await assert.rejects(
      createContainer(world(), sandbox, "a", { kind: "untilKill" }),
      failure("CreateContainer", "failedPrecondition"),
    );
    const next = { metadata: { name: "a", attempt: 1 } };
    assert.notEqual(await createContainer(world(), sandbox, "a", { kind: "untilKill" }, next), first);
    await world().runtime.removeContainer(first, patient);
    assert.notEqual(await createContainer(world(), sandbox, "a", { kind: "untilKill" }), first);
  });

  test("createContainer from a missing image returns notFound, leaves nothing, and keeps the name free", async (t) => {
    const sandbox = await runSandbox(world(), t);
    await assert.rejects(
      createContainer(world(), sandbox, "a", { kind: "untilKill" }, { image: { image: "no.example/such:1" } }),
      failure("CreateContainer", "notFound"),
    );
    assert.deepEqual(await world().runtime.listContainers({ sandboxId: sandbox.id }, patient), []);
    await createContainer(world(), sandbox, "a", { kind: "untilKill" });
  });

  test("createContainer in a missing sandbox returns notFound", async () => {
    const config = containerConfig(world(), "a", { kind: "untilKill" });
    await assert.rejects(
      world().runtime.createContainer("never-was", config, world().sandboxConfig(), patient),
      failure("CreateContainer", "notFound"),
    );
  });

  test("startContainer with a missing command returns unknown; the container is exited without a start: 128, StartError", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await createContainer(world(), sandbox, "a", { kind: "missing" });
    await assert.rejects(world().runtime.startContainer(id, patient), failure("StartContainer", "unknown"));
    const status = await statusOf(world(), id);
    assert.deepEqual([status.state, status.exitCode, status.reason], ["exited", 128, "StartError"]);
    assert.ok(!("startedWallNs" in status) && status.finishedWallNs !== undefined);
    assert.notEqual(status.message, "");
  });

  test("startContainer returns unknown for a running or exited container, and notFound for a missing one", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilTerm", code: 0 });
    await assert.rejects(world().runtime.startContainer(id, patient), failure("StartContainer", "unknown"));
    await world().runtime.stopContainer(id, 10, patient);
    await assert.rejects(world().runtime.startContainer(id, patient), failure("StartContainer", "unknown"));
    const never = world().runtime.startContainer("never-was", patient);
    await assert.rejects(never, failure("StartContainer", "notFound"));
  });

  test("a container that handles SIGTERM exits within its grace period with its own code", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilTerm", code: 7 });
    await world().pass(HEEDING_MS);
    const stopMs = await took(world(), () => world().runtime.stopContainer(id, 30, patient));
    assert.ok(stopMs < 10_000, `took ${stopMs} ms`);
    const { state, exitCode } = await statusOf(world(), id);
    assert.deepEqual([state, exitCode], ["exited", 7]);
  });

  test("a container that ignores SIGTERM is killed when its grace period ends, not before", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    await world().pass(HEEDING_MS);
    const stopMs = await took(world(), () => world().runtime.stopContainer(id, 2, patient));
    assert.ok(stopMs >= 1_950 && stopMs < 8_000, `took ${stopMs} ms`);
    const { exitCode, reason } = await statusOf(world(), id);
    assert.deepEqual([exitCode, reason], [137, "Error"]);
  });

  test("stopContainer with grace 0 kills the container at once", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilTerm", code: 7 });
    await world().runtime.stopContainer(id, 0, patient);
    assert.equal((await statusOf(world(), id)).exitCode, 137);
  });

  test("[7.16] stopContainer sends the container's own stop signal, and the status names it", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilUsr1" }, { stopSignal: "SIGUSR1" });
    assert.equal((await statusOf(world(), id)).stopSignal, "SIGUSR1");
    await world().pass(HEEDING_MS);
    await world().runtime.stopContainer(id, 30, patient);
    assert.equal((await statusOf(world(), id)).exitCode, 42);
  });

  test("a stop signal with a sign in its name, such as SIGRTMIN+3, is preserved", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await createContainer(world(), sandbox, "a", { kind: "untilKill" }, { stopSignal: "SIGRTMIN+3" });
    assert.equal((await statusOf(world(), id)).stopSignal, "SIGRTMIN+3");
  });

  test("createContainer rejects an unknown stop signal before it calls the runtime", async (t) => {
    const sandbox = await runSandbox(world(), t);
    await assert.rejects(
      createContainer(world(), sandbox, "a", { kind: "untilKill" }, { stopSignal: "SIGNONSENSE" }),
      failure("CreateContainer", "invalidArgument"),
    );
  });

  test("stopContainer succeeds for a stopped, a created and a missing container", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilTerm", code: 0 });
    await world().runtime.stopContainer(id, 10, patient);
    await world().runtime.stopContainer(id, 10, patient);
    const created = await createContainer(world(), sandbox, "b", { kind: "untilKill" });
    await world().runtime.stopContainer(created, 1, patient);
    await world().runtime.stopContainer("never-was", 1, patient);
  });

  test("removeContainer kills a running container, and succeeds for a removed and a missing one", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    await world().runtime.removeContainer(id, patient);
    await world().runtime.removeContainer(id, patient);
    await world().runtime.removeContainer("never-was", patient);
    await assert.rejects(statusOf(world(), id), failure("ContainerStatus", "notFound"));
    assert.deepEqual(await world().runtime.listContainers({ sandboxId: sandbox.id }, patient), []);
  });

  test("containerStatus returns notFound for a missing container", async () => {
    await assert.rejects(statusOf(world(), "never-was"), failure("ContainerStatus", "notFound"));
  });

  test("a verbose container status includes info", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await createContainer(world(), sandbox, "a", { kind: "untilKill" });
    const { info } = await world().runtime.containerStatus(id, { verbose: true }, patient);
    assert.ok(Object.keys(info).length > 0);
  });

  test("listContainers filters by ID, state, label and sandbox, all of which must match", async (t) => {
    const [one, two] = [await runSandbox(world(), t), await runSandbox(world(), t)];
    const labels = (which: string) => ({ labels: { suite: "containers", which } });
    const created = await createContainer(world(), one, "a", { kind: "untilKill" }, labels("a"));
    const running = await startContainer(world(), one, "b", { kind: "untilKill" }, labels("b"));
    const exited = await startContainer(world(), two, "c", { kind: "exit", code: 0 }, labels("c"));
    await ended(world(), exited);
    const ids = async (filter: Parameters<RuntimeWorld["runtime"]["listContainers"]>[0]) =>
      (await world().runtime.listContainers(filter, patient)).map(({ id }) => id).sort();
    const suite = { labels: { suite: "containers" } };
    assert.deepEqual(await ids(suite), [created, running, exited].sort());
    assert.deepEqual(await ids({ ...suite, state: "created" }), [created]);
    assert.deepEqual(await ids({ ...suite, state: "running" }), [running]);
    assert.deepEqual(await ids({ ...suite, state: "exited" }), [exited]);
    assert.deepEqual(await ids({ ...suite, state: "unknown" }), []);
    assert.deepEqual(await ids({ sandboxId: one.id }), [created, running].sort());
    assert.deepEqual(await ids({ sandboxId: two.id, state: "running" }), []);
    assert.deepEqual(await ids(labels("b")), [running]);
    assert.deepEqual(await ids({ id: exited }), [exited]);
    assert.deepEqual(await ids({ id: "never-was" }), []);
  });

  test("a listed container has the same fields as its status", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" }, { labels: { app: "a" } });
    const [line] = await world().runtime.listContainers({ id }, patient);
    const status = await statusOf(world(), id);
    assert.equal(line?.sandboxId, sandbox.id);
    for (const field of [
      "id",
      "metadata",
      "state",
      "createdWallNs",
      "imageRef",
      "imageId",
      "labels",
      "annotations",
    ] as const) {
      assert.deepEqual(line?.[field], status[field], field);
    }
  });
}

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

/** A program runs from its start on, but takes until here to come to where it heeds signals, also on a busy machine. */
const HEEDING_MS = 2_000;

export function containerContract(world: () => RuntimeWorld): void {
  test("a created container remembers what it was given and has neither started nor ended", async (t) => {
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

  test("a started container runs, with a start and no end", async (t) => {
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

  test("a container's end comes after its start, once it has run for a while (the end of a very short one may be stamped first)", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "exitAfter", delayMs: 300, code: 0 });
    const { createdWallNs, startedWallNs = 0n, finishedWallNs = 0n } = await ended(world(), id);
    assert.ok(createdWallNs <= startedWallNs && startedWallNs < finishedWallNs);
  });

  test("a container that takes more memory than it may is killed, and the reason is OOMKilled", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const resources = { memoryLimitBytes: 16n * 2n ** 20n };
    const id = await startContainer(world(), sandbox, "a", { kind: "eatMemory" }, { resources });
    const { exitCode, reason } = await ended(world(), id);
    assert.deepEqual([exitCode, reason], [137, "OOMKilled"]);
  });

  test("a name stays taken by its container: failedPrecondition, also once it has ended; the next attempt works", async (t) => {
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

  test("creating from an image that is not there: notFound, nothing is left, and the name stays free", async (t) => {
    const sandbox = await runSandbox(world(), t);
    await assert.rejects(
      createContainer(world(), sandbox, "a", { kind: "untilKill" }, { image: { image: "no.example/such:1" } }),
      failure("CreateContainer", "notFound"),
    );
    assert.deepEqual(await world().runtime.listContainers({ sandboxId: sandbox.id }, patient), []);
    await createContainer(world(), sandbox, "a", { kind: "untilKill" });
  });

  test("creating in a sandbox that never was: notFound", async () => {
    const config = containerConfig(world(), "a", { kind: "untilKill" });
    await assert.rejects(
      world().runtime.createContainer("never-was", config, world().sandboxConfig(), patient),
      failure("CreateContainer", "notFound"),
    );
  });

  test("starting a container whose command is missing fails; it has ended without a start: 128, StartError", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await createContainer(world(), sandbox, "a", { kind: "missing" });
    await assert.rejects(world().runtime.startContainer(id, patient), failure("StartContainer", "unknown"));
    const status = await statusOf(world(), id);
    assert.deepEqual([status.state, status.exitCode, status.reason], ["exited", 128, "StartError"]);
    assert.ok(!("startedWallNs" in status) && status.finishedWallNs !== undefined);
    assert.notEqual(status.message, "");
  });

  test("a container starts once: running or ended it is refused with code unknown; one that never was: notFound", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilTerm", code: 0 });
    await assert.rejects(world().runtime.startContainer(id, patient), failure("StartContainer", "unknown"));
    await world().runtime.stopContainer(id, 10, patient);
    await assert.rejects(world().runtime.startContainer(id, patient), failure("StartContainer", "unknown"));
    const never = world().runtime.startContainer("never-was", patient);
    await assert.rejects(never, failure("StartContainer", "notFound"));
  });

  test("a container asked to stop may end by itself within its grace, with its own code", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilTerm", code: 7 });
    await world().pass(HEEDING_MS);
    const stopMs = await took(world(), () => world().runtime.stopContainer(id, 30, patient));
    assert.ok(stopMs < 10_000, `took ${stopMs} ms`);
    const { state, exitCode } = await statusOf(world(), id);
    assert.deepEqual([state, exitCode], ["exited", 7]);
  });

  test("a container that does not heed the request is killed when its grace is over, not before", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    await world().pass(HEEDING_MS);
    const stopMs = await took(world(), () => world().runtime.stopContainer(id, 2, patient));
    assert.ok(stopMs >= 1_950 && stopMs < 8_000, `took ${stopMs} ms`);
    const { exitCode, reason } = await statusOf(world(), id);
    assert.deepEqual([exitCode, reason], [137, "Error"]);
  });

  test("without grace a container is killed at once", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilTerm", code: 7 });
    await world().runtime.stopContainer(id, 0, patient);
    assert.equal((await statusOf(world(), id)).exitCode, 137);
  });

  test("[7.16] a container's own stop signal is the one it gets, and its status names it", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilUsr1" }, { stopSignal: "SIGUSR1" });
    assert.equal((await statusOf(world(), id)).stopSignal, "SIGUSR1");
    await world().pass(HEEDING_MS);
    await world().runtime.stopContainer(id, 30, patient);
    assert.equal((await statusOf(world(), id)).exitCode, 42);
  });

  test("a stop signal with a sign in its name goes there and back", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await createContainer(world(), sandbox, "a", { kind: "untilKill" }, { stopSignal: "SIGRTMIN+3" });
    assert.equal((await statusOf(world(), id)).stopSignal, "SIGRTMIN+3");
  });

  test("a stop signal that is none is refused before the runtime hears of it", async (t) => {
    const sandbox = await runSandbox(world(), t);
    await assert.rejects(
      createContainer(world(), sandbox, "a", { kind: "untilKill" }, { stopSignal: "SIGNONSENSE" }),
      failure("CreateContainer", "invalidArgument"),
    );
  });

  test("stopping twice, stopping what was only created and what never was succeeds", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilTerm", code: 0 });
    await world().runtime.stopContainer(id, 10, patient);
    await world().runtime.stopContainer(id, 10, patient);
    const created = await createContainer(world(), sandbox, "b", { kind: "untilKill" });
    await world().runtime.stopContainer(created, 1, patient);
    await world().runtime.stopContainer("never-was", 1, patient);
  });

  test("removing a running container kills it; removing twice and removing what never was succeeds", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    await world().runtime.removeContainer(id, patient);
    await world().runtime.removeContainer(id, patient);
    await world().runtime.removeContainer("never-was", patient);
    await assert.rejects(statusOf(world(), id), failure("ContainerStatus", "notFound"));
    assert.deepEqual(await world().runtime.listContainers({ sandboxId: sandbox.id }, patient), []);
  });

  test("a container that never was has no status: notFound", async () => {
    await assert.rejects(statusOf(world(), "never-was"), failure("ContainerStatus", "notFound"));
  });

  test("a verbose status says more", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await createContainer(world(), sandbox, "a", { kind: "untilKill" });
    const { info } = await world().runtime.containerStatus(id, { verbose: true }, patient);
    assert.ok(Object.keys(info).length > 0);
  });

  test("containers are listed by id, state, label and sandbox, all of which must fit", async (t) => {
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

  test("one line of the list says as much as the status", async (t) => {
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

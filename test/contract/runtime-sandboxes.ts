/** Contract: sandboxes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, patient, type RuntimeWorld, runSandbox, startContainer, statusOf } from "./runtime-world.ts";

export function sandboxContract(world: () => RuntimeWorld): void {
  test("a sandbox that was run is ready, has an IP, and reports its config", async (t) => {
    const changes = { labels: { app: "a" }, annotations: { note: "b" } };
    const before = BigInt(world().clock.wallMs()) * 1_000_000n;
    const { id, config } = await runSandbox(world(), t, changes);
    const { status } = await world().runtime.sandboxStatus(id, { verbose: false }, patient);
    assert.equal(status.id, id);
    assert.equal(status.state, "ready");
    assert.deepEqual(status.metadata, config.metadata);
    assert.deepEqual(status.labels, changes.labels);
    assert.deepEqual(status.annotations, changes.annotations);
    assert.equal(status.ips.length, 1);
    assert.ok(status.createdWallNs >= before, "created before the request");
  });

  test("a stopped sandbox is notReady, has no IP, and still exists", async (t) => {
    const { id } = await runSandbox(world(), t);
    await world().runtime.stopSandbox(id, patient);
    const { status } = await world().runtime.sandboxStatus(id, { verbose: false }, patient);
    assert.equal(status.state, "notReady");
    assert.deepEqual(status.ips, []);
  });

  test("stopSandbox kills the sandbox's containers", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    await world().runtime.stopSandbox(sandbox.id, patient);
    const { state, exitCode } = await statusOf(world(), id);
    assert.deepEqual([state, exitCode], ["exited", 137]);
  });

  test("stopping and removing a sandbox twice succeeds", async (t) => {
    const { id } = await runSandbox(world(), t);
    await world().runtime.stopSandbox(id, patient);
    await world().runtime.stopSandbox(id, patient);
    await world().runtime.removeSandbox(id, patient);
    await world().runtime.removeSandbox(id, patient);
    await assert.rejects(
      world().runtime.sandboxStatus(id, { verbose: false }, patient),
      failure("PodSandboxStatus", "notFound"),
    );
  });

  test("stopping and removing a missing sandbox succeeds", async () => {
    await world().runtime.stopSandbox("never-was", patient);
    await world().runtime.removeSandbox("never-was", patient);
  });

  test("removeSandbox of a ready sandbox stops it and removes its running containers", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const container = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    await world().runtime.removeSandbox(sandbox.id, patient);
    assert.deepEqual(await world().runtime.listSandboxes({ id: sandbox.id }, patient), []);
    assert.deepEqual(await world().runtime.listContainers({ id: container }, patient), []);
  });

  test("sandboxStatus returns notFound for a missing sandbox", async () => {
    const status = world().runtime.sandboxStatus("never-was", { verbose: true }, patient);
    await assert.rejects(status, failure("PodSandboxStatus", "notFound"));
  });

  test("runSandbox returns failedPrecondition while a sandbox has the name, even if stopped; the next attempt works", async (t) => {
    const { id, config } = await runSandbox(world(), t);
    const taken = failure("RunPodSandbox", "failedPrecondition");
    await assert.rejects(world().runtime.runSandbox(config, "", patient), taken);
    await world().runtime.stopSandbox(id, patient);
    await assert.rejects(world().runtime.runSandbox(config, "", patient), taken);
    const next = await runSandbox(world(), t, { metadata: { ...config.metadata, attempt: 1 } });
    assert.notEqual(next.id, id);
  });

  test("a name is free again once its sandbox is removed", async (t) => {
    const { id, config } = await runSandbox(world(), t);
    await world().runtime.stopSandbox(id, patient);
    await world().runtime.removeSandbox(id, patient);
    const again = await runSandbox(world(), t, config);
    assert.notEqual(again.id, id);
  });

  test("runSandbox with an unknown handler returns unknown, leaves nothing, and keeps the name free", async (t) => {
    const config = world().sandboxConfig();
    await assert.rejects(
      world().runtime.runSandbox(config, "no-such-handler", patient),
      failure("RunPodSandbox", "unknown"),
    );
    const left = await world().runtime.listSandboxes({}, patient);
    assert.ok(!left.some(({ metadata }) => metadata.uid === config.metadata.uid));
    await runSandbox(world(), t, config);
  });

  test("a listed sandbox names its runtime handler", async (t) => {
    const id = await world().runtime.runSandbox(world().sandboxConfig(), world().otherHandler, patient);
    t.after(() => world().runtime.removeSandbox(id, patient));
    const [sandbox] = await world().runtime.listSandboxes({ id }, patient);
    assert.equal(sandbox?.runtimeHandler, world().otherHandler);
  });

  test("a sandbox on the host network has no IP", async (t) => {
    const security = { namespaces: { network: "node", pid: "container", ipc: "pod" } } as const;
    const { id } = await runSandbox(world(), t, { hostname: "", security });
    const { status } = await world().runtime.sandboxStatus(id, { verbose: false }, patient);
    assert.deepEqual(status.ips, []);
    assert.equal(status.namespaces?.network, "node");
  });

  test("listSandboxes filters by ID, state and label, all of which must match", async (t) => {
    const ready = await runSandbox(world(), t, { labels: { suite: "list", which: "ready" } });
    const stopped = await runSandbox(world(), t, { labels: { suite: "list", which: "stopped" } });
    await world().runtime.stopSandbox(stopped.id, patient);
    const ids = async (filter: Parameters<RuntimeWorld["runtime"]["listSandboxes"]>[0]) =>
      (await world().runtime.listSandboxes(filter, patient)).map(({ id }) => id).sort();
    const suite = { labels: { suite: "list" } };
    assert.deepEqual(await ids(suite), [ready.id, stopped.id].sort());
    assert.deepEqual(await ids({ ...suite, state: "ready" }), [ready.id]);
    assert.deepEqual(await ids({ ...suite, state: "notReady" }), [stopped.id]);
    assert.deepEqual(await ids({ labels: { suite: "list", which: "stopped" } }), [stopped.id]);
    assert.deepEqual(await ids({ id: ready.id }), [ready.id]);
    assert.deepEqual(await ids({ id: ready.id, state: "notReady" }), []);
    assert.deepEqual(await ids({ id: "never-was" }), []);
  });

  test("updateSandboxResources accepts a ready sandbox, and returns notFound for a missing one", async (t) => {
    const { id } = await runSandbox(world(), t);
    const change = { overhead: { cpuShares: 10 }, resources: { cpuShares: 512, memoryLimitBytes: 2n ** 28n } };
    await world().runtime.updateSandboxResources(id, change, patient);
    await assert.rejects(
      world().runtime.updateSandboxResources("never-was", change, patient),
      failure("UpdatePodSandboxResources", "notFound"),
    );
  });
}

/** Contract: stats and metrics of containers and sandboxes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, failure, patient, type RuntimeWorld, runSandbox, startContainer } from "./runtime-world.ts";

export function statsContract(world: () => RuntimeWorld): void {
  test("containerStats returns a running container's own metadata and stats", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "tick" }, { labels: { app: "a" } });
    const stats = await world().runtime.containerStats(id, patient);
    assert.equal(stats.id, id);
    assert.deepEqual([stats.metadata, stats.labels], [{ name: "a", attempt: 0 }, { app: "a" }]);
    assert.ok((stats.cpu?.usageCoreNs ?? 0n) > 0n);
    assert.ok((stats.memory?.workingSetBytes ?? 0n) > 0n);
    assert.ok((stats.cpu?.wallNs ?? 0n) > 0n);
    assert.notEqual(stats.writableLayer?.mountpoint ?? "", "");
  });

  test("CPU usage of a running container grows", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "tick" });
    const used = async () => (await world().runtime.containerStats(id, patient)).cpu?.usageCoreNs ?? 0n;
    const first = await used();
    await eventually(world(), "more CPU use", async () => (await used()) > first);
  });

  test("containerStats returns notFound for a missing container, and unknown for an exited one", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    await world().runtime.stopContainer(id, 0, patient);
    await assert.rejects(world().runtime.containerStats("never-was", patient), failure("ContainerStats", "notFound"));
    await assert.rejects(world().runtime.containerStats(id, patient), failure("ContainerStats", "unknown"));
  });

  test("listContainerStats filters by ID, sandbox and label", async (t) => {
    const [one, two] = [await runSandbox(world(), t), await runSandbox(world(), t)];
    const labels = { suite: "stats" };
    const a = await startContainer(world(), one, "a", { kind: "untilKill" }, { labels });
    const b = await startContainer(world(), two, "b", { kind: "untilKill" }, { labels });
    const ids = async (filter: Parameters<RuntimeWorld["runtime"]["listContainerStats"]>[0]) =>
      (await world().runtime.listContainerStats(filter, patient)).map(({ id }) => id).sort();
    assert.deepEqual(await ids({ labels }), [a, b].sort());
    assert.deepEqual(await ids({ sandboxId: one.id }), [a]);
    assert.deepEqual(await ids({ id: b }), [b]);
    assert.deepEqual(await ids({ id: "never-was" }), []);
  });

  test("sandboxStats includes the sandbox's network, process count, memory and containers", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    const stats = await world().runtime.sandboxStats(sandbox.id, patient);
    assert.equal(stats.id, sandbox.id);
    assert.deepEqual(stats.metadata, sandbox.config.metadata);
    assert.deepEqual(
      stats.containers.map((container) => container.id),
      [id],
    );
    assert.ok((stats.processCount ?? 0n) >= 1n);
    assert.notEqual(stats.network?.defaultInterface?.name ?? "", "");
    assert.ok((stats.memory?.workingSetBytes ?? 0n) > 0n);
  });

  test("sandboxStats returns notFound for a missing sandbox, and unavailable for a stopped one though the runtime is healthy", async (t) => {
    const { id } = await runSandbox(world(), t);
    await world().runtime.stopSandbox(id, patient);
    await assert.rejects(world().runtime.sandboxStats("never-was", patient), failure("PodSandboxStats", "notFound"));
    await assert.rejects(world().runtime.sandboxStats(id, patient), failure("PodSandboxStats", "unavailable"));
  });

  test("listSandboxStats filters by ID and label", async (t) => {
    const labels = { suite: "sandbox-stats" };
    const [one, two] = [await runSandbox(world(), t, { labels }), await runSandbox(world(), t, { labels })];
    const ids = async (filter: Parameters<RuntimeWorld["runtime"]["listSandboxStats"]>[0]) =>
      (await world().runtime.listSandboxStats(filter, patient)).map(({ id }) => id).sort();
    assert.deepEqual(await ids({ labels }), [one.id, two.id].sort());
    assert.deepEqual(await ids({ id: two.id }), [two.id]);
    assert.deepEqual(await ids({ id: "never-was" }), []);
  });

  test("the runtime's own metrics have descriptors, and samples for every sandbox and container", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const container = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    const descriptors = await world().runtime.metricDescriptors(patient);
    assert.ok(descriptors.length > 0 && descriptors.every(({ name, help }) => name !== "" && help !== ""));
    const metrics = await world().runtime.listSandboxMetrics(patient);
    const own = metrics.find(({ sandboxId }) => sandboxId === sandbox.id);
    const samples = own?.containers.find(({ containerId }) => containerId === container)?.samples ?? [];
    assert.ok(samples.some(({ kind }) => kind === "counter"));
    assert.ok(samples.every(({ name, wallNs }) => name !== "" && wallNs > 0n));
  });
}

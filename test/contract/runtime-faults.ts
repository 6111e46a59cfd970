/** Contract: a runtime that dies, hangs, and comes back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answers,
  ended,
  failure,
  patient,
  type RuntimeWorld,
  runSandbox,
  startContainer,
  statusOf,
  took,
} from "./runtime-world.ts";

export function faultContract(world: () => RuntimeWorld): void {
  test("pending calls return unavailable when the runtime is killed; containers keep running and are listed after its restart", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const stopping = await startContainer(world(), sandbox, "stopping", { kind: "untilKill" });
    const running = await startContainer(world(), sandbox, "running", { kind: "untilKill" });
    const started = (await statusOf(world(), running)).startedWallNs;
    const { runtime } = world();
    const calls = [
      assert.rejects(runtime.stopContainer(stopping, 60, patient), failure("StopContainer", "unavailable")),
      assert.rejects(
        runtime.execSync(running, world().command({ kind: "untilKill" }), 60, patient),
        failure("ExecSync", "unavailable"),
      ),
    ];
    await world().pass(500);
    await world().kill();
    const failedMs = await took(world(), () => Promise.all(calls));
    assert.ok(failedMs < 2_000, `took ${failedMs} ms`);

    await world().restart();
    await answers(world());
    const listed = await runtime.listContainers({ sandboxId: sandbox.id, state: "running" }, patient);
    assert.deepEqual(listed.map(({ id }) => id).sort(), [stopping, running].sort());
    assert.equal((await statusOf(world(), running)).startedWallNs, started);
    const { status } = await runtime.sandboxStatus(sandbox.id, { verbose: false }, patient);
    assert.equal(status.state, "ready");
    await runtime.stopContainer(stopping, 0, patient);
    assert.equal((await statusOf(world(), stopping)).exitCode, 137);
  });

  test("a container that exits while the runtime is dead is exited after its restart, with its exit code lost: 255, Unknown", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "exitAfter", delayMs: 1_000, code: 5 });
    await world().kill();
    await world().pass(1_500);
    await world().restart();
    await answers(world());
    const { exitCode, reason } = await ended(world(), id);
    assert.deepEqual([exitCode, reason], [255, "Unknown"]);
  });

  test("calls to a dead runtime return unavailable at once, and succeed soon after its restart", async () => {
    await world().kill();
    const { runtime, images } = world();
    for (const [operation, call] of [
      ["Version", () => runtime.version(patient)],
      ["Status", () => runtime.status({ verbose: false }, patient)],
      ["RuntimeConfig", () => runtime.cgroupDriver(patient)],
      ["ListPodSandbox", () => runtime.listSandboxes({}, patient)],
      ["ListContainerStats", () => runtime.listContainerStats({}, patient)],
      ["ListPodSandboxStats", () => runtime.listSandboxStats({}, patient)],
      ["ListMetricDescriptors", () => runtime.metricDescriptors(patient)],
      ["ListPodSandboxMetrics", () => runtime.listSandboxMetrics(patient)],
      ["ListContainers", () => runtime.listContainers({}, patient)],
      ["ListImages", () => images.listImages({}, patient)],
      ["ImageStatus", () => images.imageStatus({ image: "a" }, patient)],
      ["ImageFsInfo", () => images.imageFilesystems(patient)],
      ["RemoveImage", () => images.removeImage({ image: "a" }, patient)],
      ["StopPodSandbox", () => runtime.stopSandbox("a", patient)],
      ["RemovePodSandbox", () => runtime.removeSandbox("a", patient)],
      ["RemoveContainer", () => runtime.removeContainer("a", patient)],
    ] as const) {
      const failedMs = await took(world(), () => assert.rejects(call, failure(operation, "unavailable")));
      assert.ok(failedMs < 1_000, `${operation} took ${failedMs} ms`);
    }
    await world().restart();
    const backMs = await took(world(), () => answers(world()));
    assert.ok(backMs < 4_500, `took ${backMs} ms`);
  });

  test("calls to a hanging runtime return deadlineExceeded at their deadline, and succeed once it resumes", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    const impatient = world().connect({ requestLimitMs: 1_000 });
    t.after(() => impatient.close());
    const { runtime, images } = impatient;
    await runtime.version(patient);
    await hanging(world(), async () => {
      const late = [
        ["Version", 1_000, runtime.version(patient)],
        ["ListContainers", 1_000, runtime.listContainers({}, patient)],
        ["StopContainer", 3_000, runtime.stopContainer(id, 2, patient)],
        ["ExecSync", 2_000, runtime.execSync(id, ["true"], 1, patient)],
        ["CheckpointContainer", 2_000, runtime.checkpoint(id, "/nowhere", 1, patient)],
        ["ListImages", 1_000, images.listImages({}, patient)],
      ] as const;
      await Promise.all(
        late.map(async ([operation, limitMs, call]) => {
          const lateMs = await took(world(), () => assert.rejects(call, failure(operation, "deadlineExceeded")));
          assert.ok(lateMs > limitMs - 50 && lateMs < limitMs + 1_000, `${operation} took ${lateMs} ms`);
        }),
      );
    });
    await answers(world(), runtime);
  });

  test("a new client of a hanging runtime waits no longer than its deadline", async (t) => {
    await hanging(world(), async () => {
      const late = world().connect({ requestLimitMs: 500 });
      t.after(() => late.close());
      const refused = failure("Version", "deadlineExceeded");
      const lateMs = await took(world(), () => assert.rejects(late.runtime.version(patient), refused));
      assert.ok(lateMs > 450 && lateMs < 1_500, `took ${lateMs} ms`);
    });
  });

  test("closing a client cancels pending calls, and later calls return unavailable", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    const client = world().connect({ requestLimitMs: 60_000 });
    const call = client.runtime.execSync(id, world().command({ kind: "untilKill" }), 60, patient);
    await world().pass(200);
    client.close();
    await assert.rejects(call, failure("ExecSync", "cancelled"));
    await assert.rejects(client.runtime.version(patient), failure("Version", "unavailable"));
    await assert.rejects(client.images.listImages({}, patient), failure("ListImages", "unavailable"));
  });
}

async function hanging(world: RuntimeWorld, run: () => Promise<void>): Promise<void> {
  await world.pause();
  try {
    await run();
  } finally {
    await world.resume();
  }
}

/** Contract: the runtime about itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, patient, type RuntimeWorld } from "./runtime-world.ts";

export function selfContract(world: () => RuntimeWorld): void {
  test("version names the runtime and the API it speaks", async () => {
    const version = await world().runtime.version(patient);
    assert.notEqual(version.name, "");
    assert.match(version.version, /^v?\d+\.\d+/);
    assert.equal(version.apiVersion, "v1");
  });

  test("status says that runtime and network are ready, and names the handlers", async () => {
    const { conditions, handlers, info } = await world().runtime.status({ verbose: false }, patient);
    const ready = conditions.filter(({ status }) => status).map(({ type }) => type);
    assert.deepEqual(ready.filter((type) => type.endsWith("Ready")).sort(), ["NetworkReady", "RuntimeReady"]);
    assert.ok(handlers.some(({ name }) => name === ""));
    assert.ok(handlers.some(({ name }) => name === world().otherHandler));
    assert.deepEqual(info, {});
  });

  test("a verbose status says more", async () => {
    const { info } = await world().runtime.status({ verbose: true }, patient);
    assert.ok(Object.keys(info).length > 0);
  });

  test("the cgroup driver is one of the two there are", async () => {
    assert.ok(["cgroupfs", "systemd"].includes(await world().runtime.cgroupDriver(patient)));
  });

  test("the pod range is taken", async () => {
    await world().runtime.setPodCidr("198.18.200.0/24", patient);
  });

  test("a pod range that is none is refused, with code unknown", async () => {
    await assert.rejects(world().runtime.setPodCidr("rubbish", patient), failure("UpdateRuntimeConfig", "unknown"));
  });

  test("a caller who has given up gets its own reason, and the runtime is not asked", async () => {
    const reason = new Error("shutting down");
    const gone = AbortSignal.abort(reason);
    const { runtime, images } = world();
    const same = (error: unknown) => error === reason;
    await assert.rejects(runtime.version(gone), same);
    await assert.rejects(runtime.status({ verbose: false }, gone), same);
    await assert.rejects(runtime.cgroupDriver(gone), same);
    await assert.rejects(runtime.listContainers({}, gone), same);
    await assert.rejects(runtime.metricDescriptors(gone), same);
    await assert.rejects(runtime.listSandboxMetrics(gone), same);
    await assert.rejects(images.imageFilesystems(gone), same);
  });
}

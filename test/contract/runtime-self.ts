/** Contract: the runtime's version, status and configuration. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, patient, type RuntimeWorld } from "./runtime-world.ts";

export function selfContract(world: () => RuntimeWorld): void {
  test("version returns the runtime's name and version, and the CRI version", async () => {
    const version = await world().runtime.version(patient);
    assert.notEqual(version.name, "");
    assert.match(version.version, /^v?\d+\.\d+/);
    assert.equal(version.apiVersion, "v1");
  });

  test("status reports RuntimeReady and NetworkReady, and lists the handlers", async () => {
    const { conditions, handlers, info } = await world().runtime.status({ verbose: false }, patient);
    const ready = conditions.filter(({ status }) => status).map(({ type }) => type);
    assert.deepEqual(ready.filter((type) => type.endsWith("Ready")).sort(), ["NetworkReady", "RuntimeReady"]);
    assert.ok(handlers.some(({ name }) => name === ""));
    assert.ok(handlers.some(({ name }) => name === world().otherHandler));
    assert.deepEqual(info, {});
  });

  test("a verbose runtime status includes info", async () => {
    const { info } = await world().runtime.status({ verbose: true }, patient);
    assert.ok(Object.keys(info).length > 0);
  });

  test("cgroupDriver returns cgroupfs or systemd", async () => {
    assert.ok(["cgroupfs", "systemd"].includes(await world().runtime.cgroupDriver(patient)));
  });

  test("setPodCidr accepts a CIDR", async () => {
    await world().runtime.setPodCidr("198.18.200.0/24", patient);
  });

  test("setPodCidr returns unknown for an invalid CIDR", async () => {
    await assert.rejects(world().runtime.setPodCidr("rubbish", patient), failure("UpdateRuntimeConfig", "unknown"));
  });

  test("a call with an aborted signal rejects with its reason and does not reach the runtime", async () => {
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

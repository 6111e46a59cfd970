/**
 * Checks that a method of the ports sends each RPC of CRI v1, and that each failure carries the RPC's name and code.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Images } from "../../src/ports/images.ts";
import type { Runtime } from "../../src/ports/runtime.ts";
import { isRuntimeError } from "../../src/ports/runtime-error.ts";
import { ImageService, RuntimeService } from "../../src/wire/cri/gen/api_pb.js";
import { patient } from "../contract/runtime-world.ts";
import { served } from "./cri-messages.ts";
import type { CriAnswers } from "./cri-server.ts";

const methods = [...RuntimeService.methods, ...ImageService.methods];

const sandbox = { metadata: { name: "n", namespace: "ns", uid: "u", attempt: 0 } };
const container = { metadata: { name: "n", attempt: 0 }, image: { image: "i" } };
const io = { stdin: false, stdout: true, stderr: true, tty: false };
const look = { verbose: true };

/** Every method of both ports, by name: a method that is added later is a compile error until it is here. */
const everyMethod: { readonly [M in keyof (Runtime & Images)]: (port: Runtime & Images) => Promise<unknown> } = {
  version: (port) => port.version(patient),
  status: (port) => port.status(look, patient),
  cgroupDriver: (port) => port.cgroupDriver(patient),
  setPodCidr: (port) => port.setPodCidr("198.18.0.0/24", patient),
  runSandbox: (port) => port.runSandbox(sandbox, "", patient),
  stopSandbox: (port) => port.stopSandbox("s", patient),
  removeSandbox: (port) => port.removeSandbox("s", patient),
  sandboxStatus: (port) => port.sandboxStatus("s", look, patient),
  listSandboxes: (port) => port.listSandboxes({}, patient),
  updateSandboxResources: (port) => port.updateSandboxResources("s", {}, patient),
  createContainer: (port) => port.createContainer("s", container, sandbox, patient),
  startContainer: (port) => port.startContainer("c", patient),
  stopContainer: (port) => port.stopContainer("c", 1, patient),
  removeContainer: (port) => port.removeContainer("c", patient),
  containerStatus: (port) => port.containerStatus("c", look, patient),
  listContainers: (port) => port.listContainers({}, patient),
  updateContainerResources: (port) => port.updateContainerResources("c", {}, {}, patient),
  reopenLog: (port) => port.reopenLog("c", patient),
  checkpoint: (port) => port.checkpoint("c", "/x", 1, patient),
  events: async (port) => {
    for await (const event of port.events(patient)) assert.fail(event.kind);
  },
  execSync: (port) => port.execSync("c", ["x"], 1, patient),
  exec: (port) => port.exec("c", ["x"], io, patient),
  attach: (port) => port.attach("c", io, patient),
  portForward: (port) => port.portForward("s", [1], patient),
  containerStats: (port) => port.containerStats("c", patient),
  listContainerStats: (port) => port.listContainerStats({}, patient),
  sandboxStats: (port) => port.sandboxStats("s", patient),
  listSandboxStats: (port) => port.listSandboxStats({}, patient),
  metricDescriptors: (port) => port.metricDescriptors(patient),
  listSandboxMetrics: (port) => port.listSandboxMetrics(patient),
  listImages: (port) => port.listImages({}, patient),
  imageStatus: (port) => port.imageStatus({ image: "i" }, patient),
  pullImage: (port) => port.pullImage({ image: "i" }, {}, patient),
  removeImage: (port) => port.removeImage({ image: "i" }, patient),
  imageFilesystems: (port) => port.imageFilesystems(patient),
};

/**
 * Calls every method on a runtime that refuses everything. Returns the calls the runtime got and the operations of the
 * errors.
 */
async function refuseEverything(t: TestContext, streamLists: boolean) {
  const refusal = { code: 9, details: "not today" };
  const refuse = () => {
    throw refusal;
  };
  const refuseStream = async function* () {
    yield* [];
    throw refusal;
  };
  const answers = Object.fromEntries(
    methods.map((method) => [method.localName, method.methodKind === "unary" ? refuse : refuseStream]),
  ) as CriAnswers;
  const { runtime, images, server } = await served(t, answers, { streamLists });
  const failed: string[] = [];
  for (const [name, ask] of Object.entries(everyMethod)) {
    const error: unknown = await ask({ ...runtime, ...images }).catch((refused: unknown) => refused);
    if (!isRuntimeError(error, "failedPrecondition")) throw new Error(`${name} was not refused`, { cause: error });
    assert.match(error.message, /: not today$/);
    failed.push(error.operation);
  }
  return { calls: server.calls, failed };
}

test("every RPC is sent by a method of the ports, and its failure carries its name and code", async (t) => {
  const whole = await refuseEverything(t, false);
  const streamed = await refuseEverything(t, true);
  assert.deepEqual(whole.failed, whole.calls);
  assert.deepEqual(streamed.failed, streamed.calls);
  const made = new Set([...whole.calls, ...streamed.calls]);
  assert.deepEqual([...made].sort(), methods.map(({ name }) => name).sort());
  assert.equal(made.size, 41);
});

/**
 * The CRI client on real containerd fulfills the contracts of the Runtime and Images ports, and its streamed lists
 * equal the unary ones.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { imagesContract } from "../contract/images-contract.ts";
import { runtimeContract } from "../contract/runtime-contract.ts";
import { failure, patient, type RuntimeWorld, runSandbox, startContainer } from "../contract/runtime-world.ts";
import { containerdWorld } from "./containerd-world.ts";

runtimeContract("wire/cri on containerd", () => containerdWorld());
imagesContract("wire/cri on containerd", () => containerdWorld());

describe("lists that containerd streams", () => {
  let world: RuntimeWorld & { readonly streaming: Pick<RuntimeWorld, "runtime" | "images"> };
  before(async () => {
    world = await containerdWorld();
  });
  after(() => world.end());

  const askAll = ({ runtime, images }: Pick<RuntimeWorld, "runtime" | "images">) => ({
    StreamPodSandboxes: () => runtime.listSandboxes({}, patient),
    StreamContainers: () => runtime.listContainers({}, patient),
    StreamContainerStats: () => runtime.listContainerStats({}, patient),
    StreamPodSandboxStats: () => runtime.listSandboxStats({}, patient),
    StreamPodSandboxMetrics: () => runtime.listSandboxMetrics(patient),
    StreamImages: () => images.listImages({}, patient),
  });

  test("hold the same items as unary lists", async (t) => {
    for (let index = 0; index < 2; index += 1) {
      await startContainer(world, await runSandbox(world, t), "a", { kind: "untilKill" });
    }
    const streamed = askAll(world.streaming);
    for (const [name, ask] of Object.entries(askAll(world))) {
      const whole = ids(await ask());
      assert.ok(whole.length >= 2, `${name} holds ${whole.length}`);
      assert.deepEqual(ids(await streamed[name as keyof typeof streamed]()), whole, name);
    }
  });

  test("fail with unavailable when containerd dies, like any other call", async () => {
    await world.kill();
    for (const [name, ask] of Object.entries(askAll(world.streaming))) {
      await assert.rejects(ask(), failure(name, "unavailable"), name);
    }
    await world.restart();
  });
});

const ids = (items: readonly ({ readonly id: string } | { readonly sandboxId: string })[]) =>
  items.map((item) => ("id" in item ? item.id : item.sandboxId)).sort();

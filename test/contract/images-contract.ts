/** Contract suite of the Images port. Surprising error codes are containerd's, as in the Runtime contract suite. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { inspect } from "node:util";
import type { RegistryCredentials } from "../../src/domain/runtime/image.ts";
import {
  eventually,
  failure,
  patient,
  type RuntimeWorld,
  runSandbox,
  startContainer,
  statusOf,
} from "./runtime-world.ts";

export function imagesContract(name: string, begin: () => Promise<RuntimeWorld>): void {
  describe(`${name} keeps the contract of the Images port`, () => {
    let begun: RuntimeWorld | undefined;
    before(async () => {
      begun = await begin();
    });
    after(() => begun?.end());
    const world = () => {
      if (begun === undefined) throw new Error("the world has not begun");
      return begun;
    };
    pulls(world);
    passwords(world);
    store(world);
  });
}

const pull = (world: RuntimeWorld, image: string, credentials?: RegistryCredentials) =>
  world.images.pullImage({ image }, credentials === undefined ? {} : { credentials }, patient);

/** Removes the image with all its names, so a case calls it once. */
const forget = (world: RuntimeWorld, image: string) => world.images.removeImage({ image }, patient);

function pulls(world: () => RuntimeWorld): void {
  test("a pulled image is present under the reference that pullImage returns", async () => {
    const { open } = world().registry;
    await forget(world(), open);
    assert.equal(await world().images.imageStatus({ image: open }, patient), undefined);
    const reference = await pull(world(), open);
    const image = await world().images.imageStatus({ image: open }, patient);
    assert.equal(image?.id, reference);
    assert.ok(image?.tags.includes(open));
    assert.ok((image?.sizeBytes ?? 0n) > 0n);
    assert.deepEqual(await world().images.imageStatus({ image: reference }, patient), image);
  });

  test("pulling again returns the same reference", async () => {
    const { open } = world().registry;
    assert.equal(await pull(world(), open), await pull(world(), open));
  });

  test("pulls an image by its digest, and returns notFound for a wrong digest", async () => {
    const { open } = world().registry;
    const reference = await pull(world(), open);
    const image = await world().images.imageStatus({ image: open }, patient);
    const repository = open.slice(0, open.lastIndexOf(":"));
    const digest = image?.digests.find((name) => name.startsWith(`${repository}@`)) ?? assert.fail("no digest");
    await forget(world(), open);
    assert.equal(await pull(world(), digest), reference);
    assert.equal((await world().images.imageStatus({ image: digest }, patient))?.id, reference);
    const other = `${repository}@sha256:${"0".repeat(64)}`;
    await assert.rejects(pull(world(), other), failure("PullImage", "notFound"));
  });

  test("pulls a protected image with a username and password, or with auth", async () => {
    const { guarded, credentials } = world().registry;
    await forget(world(), guarded);
    assert.notEqual(await pull(world(), guarded, credentials), "");
    await forget(world(), guarded);
    const auth = Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64");
    assert.notEqual(await pull(world(), guarded, { auth }), "");
  });

  test("pulling an image that the registry lacks returns notFound", async () => {
    const { open } = world().registry;
    await assert.rejects(pull(world(), `${open}-not`), failure("PullImage", "notFound"));
  });

  test("pulling from an unreachable registry or by an invalid name returns unknown", async () => {
    await assert.rejects(pull(world(), world().registry.unreachable), failure("PullImage", "unknown"));
    await assert.rejects(pull(world(), "No//Name:1"), failure("PullImage", "unknown"));
  });

  test("an aborted pull rejects with the caller's reason, and the image can be pulled afterwards", async () => {
    const { open } = world().registry;
    await forget(world(), open);
    const caller = new AbortController();
    const reason = new Error("enough");
    const call = world().images.pullImage({ image: open }, {}, caller.signal);
    caller.abort(reason);
    await assert.rejects(call, (error) => error === reason);
    assert.notEqual(await pull(world(), open), "");
  });

  test("pullImage accepts the sandbox that the image is for", async () => {
    const { open } = world().registry;
    const sandbox = world().sandboxConfig();
    assert.notEqual(await world().images.pullImage({ image: open }, { sandbox }, patient), "");
  });
}

function passwords(world: () => RuntimeWorld): void {
  test("pulling a protected image without credentials or with wrong ones returns unknown", async () => {
    const { guarded, credentials } = world().registry;
    const wrong = { ...credentials, password: "not-the-password" };
    await assert.rejects(pull(world(), guarded), failure("PullImage", "unknown"));
    await assert.rejects(pull(world(), guarded, wrong), failure("PullImage", "unknown"));
  });

  test("no pull error contains credentials, in its stack, its JSON or any property", async () => {
    const { guarded, open, unreachable } = world().registry;
    const secrets = {
      username: "someone",
      password: "pass-5f0c7",
      identityToken: "idtok-5f0c7",
      registryToken: "regtok-5f0c7",
    };
    const auth = Buffer.from("someone:pass-5f0c7").toString("base64");
    for (const image of [guarded, `${open}-not`, unreachable, "No//Name:1"] as const) {
      for (const credentials of [secrets, { auth }, { auth: "%pass-5f0c7%" }]) {
        const error: unknown = await pull(world(), image, credentials).catch((refusal: unknown) => refusal);
        assert.ok(error instanceof Error, `${image} was pulled`);
        const shown =
          inspect(error, { depth: Infinity, showHidden: true }) + String(error.stack) + JSON.stringify(error);
        for (const secret of ["5f0c7", auth]) assert.ok(!shown.includes(secret), `${image}: ${secret} in ${shown}`);
      }
    }
  });
}

function store(world: () => RuntimeWorld): void {
  test("listImages returns every image once, with its names and size", async () => {
    const images = await world().images.listImages({}, patient);
    const own = images.find(({ tags }) => tags.includes(world().image));
    assert.ok(own !== undefined && own.sizeBytes > 0n);
    assert.equal(new Set(images.map(({ id }) => id)).size, images.length);
  });

  test("listImages for one name includes that image (containerd returns all the others too)", async () => {
    const images = await world().images.listImages({ image: { image: world().image } }, patient);
    assert.ok(images.some(({ tags }) => tags.includes(world().image)));
  });

  test("only the sandbox image is pinned", async () => {
    const images = await world().images.listImages({}, patient);
    assert.equal(images.filter(({ pinned }) => pinned).length, 1);
    assert.equal((await world().images.imageStatus({ image: world().image }, patient))?.pinned, false);
  });

  test("a missing image and an invalid name have no status", async () => {
    assert.equal(await world().images.imageStatus({ image: "no.example/such:1" }, patient), undefined);
    assert.equal(await world().images.imageStatus({ image: "No//Name:1" }, patient), undefined);
  });

  test("removing an image by one name removes all its names, and removing a missing image succeeds", async () => {
    const { open, guarded, credentials } = world().registry;
    await pull(world(), open);
    await pull(world(), guarded, credentials);
    await forget(world(), open);
    assert.equal(await world().images.imageStatus({ image: guarded }, patient), undefined);
    await forget(world(), open);
    await forget(world(), "no.example/such:1");
  });

  test("removing an image with an empty name returns unknown", async () => {
    await assert.rejects(forget(world(), ""), failure("RemoveImage", "unknown"));
  });

  test("a container keeps running when its image is removed, and no other can be created from it", async (t) => {
    const { open } = world().registry;
    await pull(world(), open);
    const sandbox = await runSandbox(world(), t);
    const changes = { image: { image: open } };
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" }, changes);
    await forget(world(), open);
    assert.equal((await statusOf(world(), id)).state, "running");
    const next = startContainer(world(), sandbox, "b", { kind: "untilKill" }, changes);
    await assert.rejects(next, failure("CreateContainer", "notFound"));
  });

  test("the image filesystem is reported at once, and its usage within seconds", async () => {
    const read = async () => (await world().images.imageFilesystems(patient)).images;
    const images = await read();
    assert.ok(images.length > 0);
    for (const { mountpoint, wallNs } of images) assert.ok(mountpoint.startsWith("/") && wallNs > 0n);
    await eventually(world(), "a measurement", async () =>
      (await read()).every(({ usedBytes = 0n }) => usedBytes > 0n),
    );
  });
}

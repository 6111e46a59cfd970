/** Contract: container events. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { ContainerEvent } from "../../src/domain/runtime/container.ts";
import {
  createContainer,
  eventually,
  patient,
  type RuntimeWorld,
  runSandbox,
  startContainer,
} from "./runtime-world.ts";

export function eventContract(world: () => RuntimeWorld): void {
  test("a container's life is told in order, with its sandbox and pod", async (t) => {
    const reader = await follow(world(), t);
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    await world().runtime.stopContainer(id, 0, patient);
    await reader.until(({ containerId, kind }) => containerId === id && kind === "stopped");
    await world().runtime.removeContainer(id, patient);
    await reader.until(({ containerId, kind }) => containerId === id && kind === "deleted");
    const own = reader.seen.filter(({ containerId }) => containerId === id);
    assert.deepEqual(
      own.map(({ kind }) => kind),
      ["created", "started", "stopped", "deleted"],
    );
    assert.ok(own.every(({ sandboxId }) => sandboxId === sandbox.id));
    assert.ok(own.every(({ podUid }) => podUid === sandbox.config.metadata.uid));
    const times = own.map(({ wallNs }) => wallNs);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => (a < b ? -1 : 1)),
    );
  });

  test("a container that ends by itself is told of without anyone asking", async (t) => {
    const reader = await follow(world(), t);
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "exit", code: 1 });
    await reader.until(({ containerId, kind }) => containerId === id && kind === "stopped");
  });

  test("a sandbox's own life is told under its id", async (t) => {
    const reader = await follow(world(), t);
    const { id } = await runSandbox(world(), t);
    await world().runtime.stopSandbox(id, patient);
    await world().runtime.removeSandbox(id, patient);
    await reader.until(({ containerId, kind }) => containerId === id && kind === "deleted");
    const kinds = reader.seen.filter(({ containerId }) => containerId === id).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["created", "started", "stopped", "deleted"]);
  });

  test("two readers are told the same", async (t) => {
    const readers = [await follow(world(), t), await follow(world(), t)];
    const sandbox = await runSandbox(world(), t);
    const id = await createContainer(world(), sandbox, "a", { kind: "untilKill" });
    await world().runtime.removeContainer(id, patient);
    const told: string[][] = [];
    for (const reader of readers) {
      await reader.until(({ containerId, kind }) => containerId === id && kind === "deleted");
      told.push(reader.seen.filter(({ containerId }) => containerId === id).map(({ kind }) => kind));
    }
    assert.deepEqual(told[0], told[1]);
  });

  test("a reader that leaves its loop is done, and the others read on", async (t) => {
    const staying = await follow(world(), t);
    const leaving = world().runtime.events(patient);
    const left = (async () => {
      for await (const event of leaving) return event;
      return undefined;
    })();
    await eventually(world(), "the leaving reader's first event", async () => {
      await runSandbox(world(), t);
      return Promise.race([
        left.then((event) => event !== undefined),
        world()
          .pass(100)
          .then(() => false),
      ]);
    });
    const { id } = await runSandbox(world(), t);
    await staying.until(({ containerId }) => containerId === id);
  });

  test("a reader whose signal aborts gets the signal's reason", async () => {
    const caller = new AbortController();
    const reason = new Error("enough");
    const read = (async () => {
      for await (const event of world().runtime.events(caller.signal)) assert.ok(event);
    })();
    await world().pass(100);
    caller.abort(reason);
    await assert.rejects(read, (error) => error === reason);
  });

  test("when the runtime dies its readers are told: unavailable, and can follow anew once it is back", async (t) => {
    const reader = await follow(world(), t);
    await world().kill();
    await assert.rejects(reader.end, { name: "RuntimeError", operation: "GetContainerEvents", code: "unavailable" });
    await world().restart();
    const again = await follow(world(), t);
    const { id } = await runSandbox(world(), t);
    await again.until(({ containerId }) => containerId === id);
  });
}

interface EventReader {
  readonly seen: readonly ContainerEvent[];
  /** Settles when the stream does. */
  readonly end: Promise<void>;
  until(wanted: (event: ContainerEvent) => boolean): Promise<void>;
}

/** Reads events until the test is over. It is back once the first has come, because only then is the runtime known to tell us. */
async function follow(world: RuntimeWorld, t: TestContext): Promise<EventReader> {
  const caller = new AbortController();
  const stopped = new Error("the test is over");
  const seen: ContainerEvent[] = [];
  const end = (async () => {
    for await (const event of world.runtime.events(caller.signal)) seen.push(event);
  })();
  end.catch(() => {}); // A case that cares awaits `end` itself.
  t.after(() => caller.abort(stopped));
  await eventually(world, "the first event", async () => {
    await runSandbox(world, t);
    return seen.length > 0;
  });
  const until = (wanted: (event: ContainerEvent) => boolean) =>
    eventually(world, "an event", async () => seen.some(wanted));
  return { seen, end, until };
}

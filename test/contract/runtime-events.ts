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
  test("a container's events arrive in order, with its sandbox and pod", async (t) => {
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

  test("a container that exits by itself sends a stopped event", async (t) => {
    const reader = await follow(world(), t);
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "exit", code: 1 });
    await reader.until(({ containerId, kind }) => containerId === id && kind === "stopped");
  });

  test("a sandbox's own events carry its ID", async (t) => {
    const reader = await follow(world(), t);
    const { id } = await runSandbox(world(), t);
    await world().runtime.stopSandbox(id, patient);
    await world().runtime.removeSandbox(id, patient);
    await reader.until(({ containerId, kind }) => containerId === id && kind === "deleted");
    const kinds = reader.seen.filter(({ containerId }) => containerId === id).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["created", "started", "stopped", "deleted"]);
  });

  test("two readers receive the same events", async (t) => {
    const readers = [await follow(world(), t), await follow(world(), t)];
    const sandbox = await runSandbox(world(), t);
    const id = await createContainer(world(), sandbox, "a", { kind: "untilKill" });
    await world().runtime.removeContainer(id, patient);
    const reported: string[][] = [];
    for (const reader of readers) {
      await reader.until(({ containerId, kind }) => containerId === id && kind === "deleted");
      reported.push(reader.seen.filter(({ containerId }) => containerId === id).map(({ kind }) => kind));
    }
    assert.deepEqual(reported[0], reported[1]);
  });

  test("a reader can leave its loop while others keep reading", async (t) => {
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

  test("a reader rejects with its signal's reason on abort", async () => {
    const caller = new AbortController();
    const reason = new Error("enough");
    const read = (async () => {
      for await (const event of world().runtime.events(caller.signal)) assert.ok(event);
    })();
    await world().pass(100);
    caller.abort(reason);
    await assert.rejects(read, (error) => error === reason);
  });

  test("readers reject with unavailable when the runtime dies, and can follow again after its restart", async (t) => {
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

/** Reads events until the test ends. Returns after the first event: only then is the runtime known to send events. */
async function follow(world: RuntimeWorld, t: TestContext): Promise<EventReader> {
  const caller = new AbortController();
  const stopped = new Error("the test has ended");
  const seen: ContainerEvent[] = [];
  const end = (async () => {
    for await (const event of world.runtime.events(caller.signal)) seen.push(event);
  })();
  end.catch(() => {}); // Cases that check the outcome await `end` themselves.
  t.after(() => caller.abort(stopped));
  await eventually(world, "the first event", async () => {
    await runSandbox(world, t);
    return seen.length > 0;
  });
  const until = (wanted: (event: ContainerEvent) => boolean) =>
    eventually(world, "an event", async () => seen.some(wanted));
  return { seen, end, until };
}

/** Pods with texts as long as the API server allows: their status and event messages stay bounded. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_MESSAGE_BYTES_MAX, WAITING_MESSAGE_BYTES_MAX } from "../src/domain/limits.ts";
import { scripted } from "./fake-runtime/behaviour.ts";
import { kubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import { World } from "./world.ts";

const LONG = 200_000;
/** Length of the suffix that says how much was cut off. */
const CUT_BYTES = 50;

async function reported(name: string, own: Parameters<ReturnType<typeof plainPods>["create"]>[1]) {
  const world = new World({ seed: 1, plan: () => undefined, latencyMs: () => 2 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  node.start(kubelet);
  const { create, find, eventsOf } = plainPods(world);
  create("hostile", own);
  create("neighbor", {});
  await world.advance(30_000);
  assert.equal(find("neighbor")?.status?.phase, "Running", name);
  const { waiting } = find("hostile")?.status?.containerStatuses?.[0]?.state ?? {};
  return { waiting, events: (await eventsOf("hostile")).map(({ message = "" }) => message) };
}

test("bounds status and event messages for an image name of 200 KB", async () => {
  const { waiting, events } = await reported("image", { image: `A${".a".repeat(LONG / 2)}` });
  assert.equal(waiting?.reason, "InvalidImageName");
  const message = waiting.message ?? "";
  assert.match(message, /^Failed to apply default image tag "A\.a\.a.*\.\.\. \(\d+ more characters\)$/);
  assert.ok(message.length <= WAITING_MESSAGE_BYTES_MAX + CUT_BYTES, `${message.length}`);
  assert.ok(
    events.some((each) => each.includes("A.a.a")) &&
      events.every((each) => each.length <= EVENT_MESSAGE_BYTES_MAX + CUT_BYTES),
  );
});

test("[7.15] bounds status and event messages when a postStart hook prints 200 KB and fails", async () => {
  const command = [
    ...scripted({ stdout: "x".repeat(LONG), stderr: "y".repeat(LONG), exit: { afterMs: 100, code: 9 } }),
  ];
  const { waiting, events } = await reported("hook", { lifecycle: { postStart: { exec: { command } } } });
  const message = waiting?.message ?? "";
  assert.ok(message.length <= WAITING_MESSAGE_BYTES_MAX + CUT_BYTES, `${message.length}`);
  assert.ok(events.length > 0 && events.every((each) => each.length <= EVENT_MESSAGE_BYTES_MAX + CUT_BYTES));
});

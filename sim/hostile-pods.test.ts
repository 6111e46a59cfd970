/** Pods whose author chooses texts that are as long as the API server lets them be: what is said of them has bounds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_MESSAGE_BYTES_MAX, WAITING_MESSAGE_BYTES_MAX } from "../src/domain/limits.ts";
import { scripted } from "./fake-runtime/behaviour.ts";
import { kubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import { World } from "./world.ts";

const LONG = 200_000;
/** The words that say how much is missing. */
const CUT_BYTES = 50;

async function told(name: string, own: Parameters<ReturnType<typeof plainPods>["create"]>[1]) {
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

test("an image name of 200 KB: what its status and its events say has a bound", async () => {
  const { waiting, events } = await told("image", { image: `A${".a".repeat(LONG / 2)}` });
  assert.equal(waiting?.reason, "InvalidImageName");
  const message = waiting.message ?? "";
  assert.match(message, /^Failed to apply default image tag "A\.a\.a.*\.\.\. \(\d+ more characters\)$/);
  assert.ok(message.length <= WAITING_MESSAGE_BYTES_MAX + CUT_BYTES, `${message.length}`);
  assert.ok(
    events.some((each) => each.includes("A.a.a")) &&
      events.every((each) => each.length <= EVENT_MESSAGE_BYTES_MAX + CUT_BYTES),
  );
});

test("[7.15] a postStart hook that prints 200 KB and fails: what its status and its events say has a bound", async () => {
  const command = [
    ...scripted({ stdout: "x".repeat(LONG), stderr: "y".repeat(LONG), exit: { afterMs: 100, code: 9 } }),
  ];
  const { waiting, events } = await told("hook", { lifecycle: { postStart: { exec: { command } } } });
  const message = waiting?.message ?? "";
  assert.ok(message.length <= WAITING_MESSAGE_BYTES_MAX + CUT_BYTES, `${message.length}`);
  assert.ok(events.length > 0 && events.every((each) => each.length <= EVENT_MESSAGE_BYTES_MAX + CUT_BYTES));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { podLog } from "./pod-log.ts";

test("a line with a pod's UID has the pod's name and UID, and the container's name", () => {
  const lines: unknown[] = [];
  const log = podLog(
    {
      info: (_, message, fields) => void lines.push([message, fields]),
      error: (message, _, fields) => void lines.push([message, fields]),
    },
    (uid) => (uid === "u1" ? "shop/web" : undefined),
  );
  log.error("Failed to sync a pod", new Error("x"), { uid: "u1", container: "app", volume: "v" });
  log.info(0, "Failed to sync a pod", { uid: "u2" });
  log.info(0, "Closed", { podUID: "u1" });
  log.info(0, "Started", { container: "app" });
  log.info(0, "Started");
  assert.deepEqual(lines, [
    ["Failed to sync a pod", { pod: "shop/web", podUID: "u1", containerName: "app", volume: "v" }],
    ["Failed to sync a pod", { podUID: "u2" }],
    ["Closed", { pod: "shop/web", podUID: "u1" }],
    ["Started", { container: "app" }],
    ["Started", undefined],
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { hostPathStep } from "./host-path.ts";

test("[13.6] a hostPath is checked against its type", () => {
  const kinds = ["absent", "file", "directory", "socket", "charDevice", "blockDevice"] as const;
  const outcomes = (type: string) => kinds.map((kind) => hostPathStep("/p", type, kind).kind);
  assert.deepEqual(outcomes(""), ["ready", "ready", "ready", "ready", "ready", "ready"]);
  assert.deepEqual(outcomes("DirectoryOrCreate"), [
    "makeDirectory",
    "refused",
    "ready",
    "refused",
    "refused",
    "refused",
  ]);
  assert.deepEqual(outcomes("Directory"), ["refused", "refused", "ready", "refused", "refused", "refused"]);
  assert.deepEqual(outcomes("FileOrCreate"), ["makeFile", "ready", "refused", "refused", "refused", "refused"]);
  assert.deepEqual(outcomes("File"), ["refused", "ready", "refused", "refused", "refused", "refused"]);
  assert.deepEqual(outcomes("Socket"), ["refused", "refused", "refused", "ready", "refused", "refused"]);
  assert.deepEqual(outcomes("CharDevice"), ["refused", "refused", "refused", "refused", "ready", "refused"]);
  assert.deepEqual(outcomes("BlockDevice"), ["refused", "refused", "refused", "refused", "refused", "ready"]);
  assert.deepEqual(hostPathStep("/p", "Socket", "absent"), {
    kind: "refused",
    message: "hostPath type check failed: /p is not a socket file",
  });
});

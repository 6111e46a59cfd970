import assert from "node:assert/strict";
import { test } from "node:test";
import { RuntimeError, rpcText } from "./runtime-error.ts";

test("[7.1] rpcText formats a RuntimeError as Go formats a gRPC status", () => {
  const text = (code: RuntimeError["code"]) => rpcText(new RuntimeError("RunPodSandbox", code, "no"));
  assert.equal(text("unknown"), "rpc error: code = Unknown desc = no");
  assert.equal(text("deadlineExceeded"), "rpc error: code = DeadlineExceeded desc = no");
  assert.equal(text("cancelled"), "rpc error: code = Canceled desc = no");
  assert.equal(rpcText(new Error("plain")), "plain");
});

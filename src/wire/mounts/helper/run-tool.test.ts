import assert from "node:assert/strict";
import { test } from "node:test";
import { TOOL_OUTPUT_CHARS_MAX } from "../../limits.ts";
import { runTool } from "./run-tool.ts";

const print = (chars: number) => `head -c ${chars} /dev/zero | tr '\\0' x`;
const shell = (script: string) => runTool({ command: "sh", args: ["-c", script] });

test("runTool keeps a tool's output up to the limit, and its exit code", async () => {
  const most = "x".repeat(TOOL_OUTPUT_CHARS_MAX);
  for (const chars of [TOOL_OUTPUT_CHARS_MAX, TOOL_OUTPUT_CHARS_MAX + 1]) {
    const printed = { kind: "exited", code: 3, output: most };
    assert.deepEqual(await shell(`${print(chars)}; exit 3`), { ...printed, stdout: most });
    assert.deepEqual(await shell(`(${print(chars)}) >&2; exit 3`), { ...printed, stdout: "" });
  }
  assert.deepEqual(await shell(print(TOOL_OUTPUT_CHARS_MAX - 1)), {
    kind: "exited",
    code: 0,
    stdout: most.slice(1),
    output: most.slice(1),
  });
});

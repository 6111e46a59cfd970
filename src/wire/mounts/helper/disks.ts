/** Probes, checks and formats block devices with the machine's tools. */
import { closeSync, constants, openSync, readSync } from "node:fs";
import type { BlockFormat, CheckOutcome } from "../../../ports/mounts.ts";
import { codeOfOutput, parseCheck, parseProbe, toolFailure } from "../tool-answers.ts";
import { checkCall, formatCall, probeCall } from "../tool-arguments.ts";
import { HelperError } from "./helper-error.ts";
import { runTool } from "./run-tool.ts";

/** Every known file system has its signature in this range. */
const START_BYTES = 256 * 1024;

export async function formatOf(device: string): Promise<BlockFormat> {
  readStart(device);
  const call = probeCall(device);
  const result = await runTool(call);
  const found = parseProbe(result);
  if (found === undefined) throw new HelperError(codeOfOutput(result), toolFailure(call, result));
  return found;
}

/**
 * A device that cannot be read looks empty to the tool, and an empty device gets formatted: so its start is read first.
 */
function readStart(device: string): void {
  const fd = openSync(device, constants.O_RDONLY);
  try {
    readSync(fd, new Uint8Array(START_BYTES), 0, START_BYTES, 0);
  } finally {
    closeSync(fd);
  }
}

export async function check(device: string, onAlive: () => void): Promise<CheckOutcome> {
  return parseCheck(await runTool(checkCall(device), { onAlive }));
}

export async function format(device: string, type: string, onAlive: () => void): Promise<void> {
  const call = formatCall(device, type);
  if (call === undefined) throw new HelperError("other", `"${type}" is no type of file system`);
  const result = await runTool(call, { onAlive });
  if (result.kind !== "exited" || result.code !== 0) {
    throw new HelperError(codeOfOutput(result), toolFailure(call, result));
  }
}

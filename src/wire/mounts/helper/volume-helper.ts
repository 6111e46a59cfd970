/**
 * The helper process: reads a request, executes it, answers, and reads the next. It handles one request at a time, so
 * most calls may block: the agent has a clock and kills the helper. It exits when its input ends.
 */
import { writeSync } from "node:fs";
import type { Readable } from "node:stream";
import { assertNever } from "../../../base/assert.ts";
import { hostClock } from "../../host/clock.ts";
import { errnoOf } from "../../host/errno.ts";
import { removeTree } from "../../host/remove-tree.ts";
import type { HelperReply, HelperRequest } from "../protocol.ts";
import { applyFsGroup } from "./apply-fs-group.ts";
import { bindSubPath } from "./bind-sub-path.ts";
import { check, format, formatOf } from "./disks.ts";
import { groupOf, kindOf, makeDirectory, makeFile } from "./files.ts";
import { failureOf } from "./helper-error.ts";
import { measure } from "./measure.ts";
import { bind, mountDevice, mountHugepages, mountMemory, share, unmount } from "./mounting.ts";
import { assignProject, projectUsage, releaseProjects } from "./quotas.ts";
import { readBeneath } from "./read-beneath.ts";

const TELL_EVERY_MS = 500;
const OUTPUT = 1;

export function runVolumeHelper(input: Readable): Promise<void> {
  process.umask(0);
  // Nobody reads the answer. A tool that is running completes by itself.
  input.once("end", () => process.exit(0));
  input.setEncoding("utf8");
  let begun = "";
  let turn = Promise.resolve();
  return new Promise((_resolve, reject) => {
    input.on("data", (text: string) => {
      // Split at "\n" only: a path may contain other characters at which Node's own line reader splits.
      const lines = (begun + text).split("\n");
      begun = lines.pop() ?? "";
      for (const line of lines) turn = turn.then(() => answer(JSON.parse(line) as HelperRequest));
      turn.catch(reject);
    });
  });
}

async function answer(request: HelperRequest): Promise<void> {
  try {
    const value = await handle(request, progress());
    say({ kind: "done", value });
  } catch (error) {
    say(failureOf(error));
  }
}

function say(reply: HelperReply): void {
  try {
    writeSync(OUTPUT, `${JSON.stringify(reply)}\n`);
  } catch (error) {
    if (errnoOf(error) === "EPIPE") process.exit(0); // The agent is gone.
    throw error;
  }
}

/** Reports progress at most every 500 ms. Without a number it repeats the last count, as a sign of life. */
function progress(): (files?: number) => void {
  let reportedMs = hostClock.monotonicMs();
  let last = 0;
  return (files = last) => {
    last = files;
    const nowMs = hostClock.monotonicMs();
    if (nowMs - reportedMs < TELL_EVERY_MS) return;
    reportedMs = nowMs;
    say({ kind: "progress", files });
  };
}

async function handle(request: HelperRequest, tell: (files?: number) => void): Promise<unknown> {
  switch (request.kind) {
    case "share":
      return share(request);
    case "mountMemory":
      return mountMemory(request);
    case "mountHugepages":
      return mountHugepages(request);
    case "bind":
      return bind(request);
    case "bindSubPath":
      return bindSubPath(request);
    case "readBeneath":
      return readBeneath(request).toString("base64");
    case "unmount":
      return unmount(request);
    case "kindOf":
      return kindOf(request.path);
    case "groupOf":
      return groupOf(request.path);
    case "makeDirectory":
      return makeDirectory(request.path, request.mode);
    case "makeFile":
      return makeFile(request.path, request.mode);
    case "applyFsGroup":
      return applyFsGroup(request, tell);
    case "measure":
      return measure(request.path, request.how, tell);
    case "removeTree":
      return removeTree(request.path, tell);
    case "formatOf":
      return formatOf(request.device);
    case "check":
      return check(request.device, tell);
    case "format":
      return format(request.device, request.type, tell);
    case "mountDevice":
      return mountDevice(request);
    case "assignProject":
      return assignProject(request.path);
    case "projectUsage":
      return projectUsage(request.path, request.project);
    case "releaseProjects":
      return releaseProjects(request.directory);
    default:
      return assertNever(request);
  }
}

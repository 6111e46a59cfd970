/**
 * The helper process: reads a request, does it, answers, and reads the next. One at a time, so most of it may block: whoever waits has a clock
 * and kills it. It ends when its input does.
 */
import { writeSync } from "node:fs";
import type { Readable } from "node:stream";
import { assertNever } from "../../../base/assert.ts";
import { hostClock } from "../../host/clock.ts";
import { errnoOf } from "../../host/errno.ts";
import { removeTree } from "../../host/remove-tree.ts";
import type { HelperReply, HelperRequest } from "../protocol.ts";
import { bindSubPath } from "./bind-sub-path.ts";
import { check, format, formatOf } from "./disks.ts";
import { groupOf, kindOf, makeFile, makeFolder } from "./files.ts";
import { failureOf } from "./helper-error.ts";
import { measure } from "./measure.ts";
import { bind, mountDevice, mountHugepages, mountMemory, share, unmount } from "./mounting.ts";
import { own } from "./own.ts";
import { readBelow } from "./read-below.ts";

const TELL_EVERY_MS = 500;
const OUTPUT = 1;

export function runVolumeHelper(input: Readable): Promise<void> {
  process.umask(0);
  // Nobody is left to hear: what a tool has begun, it ends by itself.
  input.once("end", () => process.exit(0));
  input.setEncoding("utf8");
  let begun = "";
  let turn = Promise.resolve();
  return new Promise((_resolve, reject) => {
    input.on("data", (text: string) => {
      // Ended by "\n" only: other characters that Node's own reader of lines splits at may stand in a path.
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

/** Tells now and then. Without a number: alive, whatever is counted. */
function progress(): (files?: number) => void {
  let toldMs = hostClock.monotonicMs();
  let last = 0;
  return (files = last) => {
    last = files;
    const nowMs = hostClock.monotonicMs();
    if (nowMs - toldMs < TELL_EVERY_MS) return;
    toldMs = nowMs;
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
    case "readBelow":
      return readBelow(request).toString("base64");
    case "unmount":
      return unmount(request);
    case "kindOf":
      return kindOf(request.path);
    case "groupOf":
      return groupOf(request.path);
    case "makeFolder":
      return makeFolder(request.path, request.mode);
    case "makeFile":
      return makeFile(request.path, request.mode);
    case "own":
      return own(request, tell);
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
    default:
      return assertNever(request);
  }
}

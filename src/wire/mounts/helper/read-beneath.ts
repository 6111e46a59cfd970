/**
 * Reads a file of a volume, while users of the volume may change any name in it at any moment. Each component of the
 * path is opened below the directory that is held already, and no link is followed. So what is read is a regular file
 * of the volume.
 */
import { closeSync, constants, openSync, readSync } from "node:fs";
import type { RequestOf } from "../protocol.ts";
import { Place } from "./descriptor.ts";
import { HelperError } from "./helper-error.ts";

/** Opening a pipe must not wait for a writer. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

export function readBeneath({ volume, path, bytesMax }: RequestOf<"readBeneath">): Buffer {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (path.startsWith("/") || names.length === 0 || names.includes("..")) {
    throw new HelperError("unsafePath", "the path leads out of the volume");
  }
  let place = Place.directory(volume);
  try {
    for (const name of names) {
      const held = place;
      place = Place.at(held.entry(name));
      held[Symbol.dispose]();
      if (place.stat().isSymbolicLink()) throw new HelperError("unsafePath", `"${name}" is a link`);
    }
    return contentOf(place, bytesMax);
  } finally {
    place[Symbol.dispose]();
  }
}

function contentOf(place: Place, bytesMax: number): Buffer {
  if (!place.stat().isFile()) throw new HelperError("other", "it is no regular file");
  const fd = openSync(place.path, READ);
  try {
    // One byte more than is allowed, to detect a longer file; the file may grow while it is read.
    const content = Buffer.alloc(bytesMax + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= bytesMax; length += read) {
      read = readSync(fd, content, length, content.length - length, null);
    }
    if (length > bytesMax) throw new HelperError("other", `it is longer than ${bytesMax} bytes`);
    return content.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

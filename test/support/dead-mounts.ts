/**
 * Real file systems that never respond: FUSE without a server. Needs root, and preferably a private mount namespace.
 * Callers blocked on such a mount continue when it ends. It ends with this process at the latest, because the process
 * holds the server's descriptor.
 *
 * - "silent": nobody completes the FUSE handshake. Callers block but can be killed.
 * - "deaf": requests are read and never answered. Callers cannot be killed: they block in the kernel until the mount
 *   ends.
 */
import { spawnSync } from "node:child_process";
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";

export interface DeadMount {
  end(): void;
}

/** Requests are read into this buffer and discarded. */
const request = Buffer.alloc(1 << 16);
const INIT = 26;
const POLL_MS = 2;

export function mountDead(path: string, kind: "silent" | "deaf"): DeadMount {
  const fd = openSync("/dev/fuse", constants.O_RDWR | constants.O_NONBLOCK);
  const options = "fd=3,rootmode=40000,user_id=0,group_id=0";
  const stdio = ["ignore", "pipe", "pipe", fd] as const;
  // `-i`: no FUSE mount helper, which would require the name of a server.
  const { status, stderr } = spawnSync("mount", ["-i", "-t", "fuse", "-o", options, "dead", path], {
    stdio: [...stdio],
  });
  if (status !== 0) {
    closeSync(fd);
    throw new Error(`a dead mount at ${path}: ${String(stderr)}`);
  }
  const poll = kind === "deaf" ? setInterval(() => swallow(fd), POLL_MS).unref() : undefined;
  return {
    end: () => {
      clearInterval(poll);
      closeSync(fd);
    },
  };
}

/** Reads all pending requests. Only the INIT request is answered. */
function swallow(fd: number): void {
  for (;;) {
    try {
      readSync(fd, request);
    } catch {
      return; // No request is pending.
    }
    if (request.readUInt32LE(4) === INIT) writeSync(fd, greeting(request.readBigUInt64LE(8)));
  }
}

/**
 * The INIT reply: a header (length, error, request number) and the fields that the kernel needs, version 7.31 and the
 * maximum write size.
 */
function greeting(unique: bigint): Buffer {
  const reply = Buffer.alloc(16 + 64);
  reply.writeUInt32LE(reply.length, 0);
  reply.writeBigUInt64LE(unique, 8);
  reply.writeUInt32LE(7, 16);
  reply.writeUInt32LE(31, 20);
  reply.writeUInt32LE(4096, 36);
  return reply;
}

/**
 * File systems that never answer, for real: FUSE without a server. As root, and best in a mount namespace of one's own. What waits for one goes
 * on when it ends; it ends with this process at the latest, as the descriptor is its server.
 *
 * - "silent": nobody even greets the kernel. Whoever calls waits, and can be killed.
 * - "deaf": requests are taken and never answered. Whoever calls cannot be killed: the kernel waits it out.
 */
import { spawnSync } from "node:child_process";
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";

export interface DeadMount {
  end(): void;
}

/** Read and forgotten, all into the same place. */
const request = Buffer.alloc(1 << 16);
const INIT = 26;
const POLL_MS = 2;

export function mountDead(path: string, kind: "silent" | "deaf"): DeadMount {
  const fd = openSync("/dev/fuse", constants.O_RDWR | constants.O_NONBLOCK);
  const options = "fd=3,rootmode=40000,user_id=0,group_id=0";
  const stdio = ["ignore", "pipe", "pipe", fd] as const;
  // No helper of FUSE's, which would want a server's name.
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

/** Takes all requests there are. Only the greeting is answered. */
function swallow(fd: number): void {
  for (;;) {
    try {
      readSync(fd, request);
    } catch {
      return; // None is there now.
    }
    if (request.readUInt32LE(4) === INIT) writeSync(fd, greeting(request.readBigUInt64LE(8)));
  }
}

/** A header (length, error, number of the request) and what the kernel needs to begin: version 7.31, and how much may be written at once. */
function greeting(unique: bigint): Buffer {
  const reply = Buffer.alloc(16 + 64);
  reply.writeUInt32LE(reply.length, 0);
  reply.writeBigUInt64LE(unique, 8);
  reply.writeUInt32LE(7, 16);
  reply.writeUInt32LE(31, 20);
  reply.writeUInt32LE(4096, 36);
  return reply;
}

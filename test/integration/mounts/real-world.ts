/** The kernel's mounts below one directory. `end` removes whatever a test left. */
import { execFileSync } from "node:child_process";
import { closeSync, ftruncateSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MountError, type Mounts } from "../../../src/ports/mounts.ts";
import { hostClock } from "../../../src/wire/host/clock.ts";
import { createHostFiles } from "../../../src/wire/host/files.ts";
import type { HelperCommand } from "../../../src/wire/mounts/helper-process.ts";
import { parseMountinfo } from "../../../src/wire/mounts/mountinfo.ts";
import { createMounts, type MountsOptions } from "../../../src/wire/mounts/mounts.ts";
import { inRepository } from "../../../tools/repository.ts";
import type { MountsWorld } from "../../contract/mounts/mounts-world.ts";
import { type DeadMount, mountDead } from "../../support/dead-mounts.ts";

/** The helper as the agent starts it from sources. */
export const HELPER: HelperCommand = {
  file: process.execPath,
  args: [inRepository("src/app/main.ts"), "volume-helper"],
};

const DISK_BYTES = 16 << 20;

/** Give up a dead mount sooner than an agent would. */
const QUICKLY = { kindOf: 4000, own: 4000 };

export interface RealWorld extends MountsWorld {
  readonly mounts: Mounts & { close(): Promise<void> };
  plantDead(path: string, kind?: "silent" | "deaf"): Promise<void>;
  /** Ends the servers of all dead mounts. */
  bury(): void;
}

export function realWorld(options: Partial<MountsOptions> = {}): RealWorld {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "deckhand-mounts-")));
  const mounts = createMounts({ clock: hostClock, helper: HELPER, limitsMs: QUICKLY, ...options });
  const dead: DeadMount[] = [];
  const loops: string[] = [];
  const bury = () => {
    for (const mount of dead.splice(0)) mount.end();
  };
  return {
    mounts,
    files: createHostFiles({ clock: hostClock }),
    directory,
    bury,
    plant: async (path) => void execFileSync("mount", ["-t", "tmpfs", "planted", path]),
    plantDead: async (path, kind = "silent") => void dead.push(mountDead(path, kind)),
    device: async () => {
      const image = `${directory}.disk-${loops.length}`;
      const fd = openSync(image, "wx");
      ftruncateSync(fd, DISK_BYTES);
      closeSync(fd);
      const loop = execFileSync("losetup", ["--find", "--show", image], { encoding: "utf8" }).trim();
      loops.push(loop);
      return loop;
    },
    end: async () => {
      bury();
      const left = parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8")).filter(({ path }) =>
        path.startsWith(directory),
      );
      for (const { path } of left.toReversed())
        execFileSync("umount", ["--no-canonicalize", "--lazy", path], { stdio: "ignore" });
      for (const [index, loop] of loops.entries()) {
        execFileSync("losetup", ["--detach", loop]);
        rmSync(`${directory}.disk-${index}`);
      }
      await mounts.close();
      rmSync(directory, { recursive: true });
    },
  };
}

export async function inWorld(
  run: (world: RealWorld) => Promise<void>,
  options: Partial<MountsOptions> = {},
): Promise<void> {
  const world = realWorld(options);
  try {
    await run(world);
  } finally {
    await world.end();
  }
}

/** "done", or the code of the error. */
export const outcome = (call: Promise<unknown>) =>
  call.then(
    () => "done",
    (error: unknown) => (error instanceof MountError ? error.code : String(error)),
  );

/** PIDs of this process's helper processes. */
export const helpers = () =>
  readFileSync(`/proc/self/task/${process.pid}/children`, "latin1")
    .split(" ")
    .filter((pid) => pid !== "" && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("volume-helper"));

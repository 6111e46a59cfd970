/**
 * The Mounts port on this machine, and the Quotas port. Only the kernel's mount table is read here. Helper processes do everything else;
 * their code is in `helper/`. A call on a file system whose server is dead never returns, and this process has only
 * four threads for such calls.
 */
import { readFile } from "node:fs/promises";
import { errorText } from "../../base/error-text.ts";
import type { Clock } from "../../ports/clock.ts";
import { MountError, type Mounts } from "../../ports/mounts.ts";
import type { Quotas } from "../../ports/quotas.ts";
import { HelperPool, POOL_LIMITS, type PoolLimits } from "./helper-pool.ts";
import { type HelperCommand, startHelper } from "./helper-process.ts";
import { Helpers, type LimitsMs } from "./helpers.ts";
import { parseMountinfo } from "./mountinfo.ts";
import { pathGroup } from "./path-group.ts";
import { quotaCalls } from "./quotas.ts";

const TABLE = "/proc/self/mountinfo";

export interface MountsOptions {
  readonly clock: Clock;
  /** Starts a helper: this program, called with its hidden command. */
  readonly helper: HelperCommand;
  readonly limits?: PoolLimits;
  readonly limitsMs?: Partial<LimitsMs>;
}

export interface MountsAndQuotas extends Mounts {
  /** By the same helper processes. */
  readonly quotas: Quotas;
  close(): Promise<void>;
}

export function createMounts({ clock, helper, limits = POOL_LIMITS, limitsMs = {} }: MountsOptions): MountsAndQuotas {
  const pool = new HelperPool(clock, () => startHelper(helper), limits);
  const helpers = new Helpers(pool, limitsMs);
  return {
    table: readTable,
    supportsNoswap,
    ...mountCalls(helpers),
    async unmount(path, { lazy }, signal) {
      // An unmount accesses no file system. So it does not wait behind requests that do, and is the way out of what
      // hangs there.
      const turn = { operation: "unmount", path, signal, group: `unmount ${path}`, isHarmless: true };
      await helpers.ask({ kind: "unmount", path, lazy }, turn);
      pool.resetGroup(pathGroup(path));
    },
    ...fileCalls(helpers),
    ...deviceCalls(helpers),
    quotas: quotaCalls(helpers),
    close: () => pool.close(),
  };
}

function mountCalls(
  helpers: Helpers,
): Pick<Mounts, "share" | "mountMemory" | "mountHugepages" | "bind" | "bindSubPath" | "mountDevice"> {
  return {
    share: (path, signal) => helpers.ask({ kind: "share", path }, { operation: "share", path, signal }),
    mountMemory: (path, { sizeBytes, noSwap }, signal) =>
      helpers.ask(
        { kind: "mountMemory", path, noSwap, ...(sizeBytes === undefined ? {} : { sizeBytes: String(sizeBytes) }) },
        { operation: "mount memory at", path, signal },
      ),
    mountHugepages: (path, pageSize, signal) =>
      helpers.ask(
        { kind: "mountHugepages", path, ...(pageSize === undefined ? {} : { pageSize }) },
        { operation: "mount huge pages at", path, signal },
      ),
    // Only the source may hang; the target is a directory of ours.
    bind: (source, target, options, signal) =>
      helpers.ask(
        { kind: "bind", source, target, options },
        { operation: "bind to", path: target, signal, group: pathGroup(source) },
      ),
    bindSubPath: (bind, signal) =>
      helpers.ask(
        { kind: "bindSubPath", ...bind },
        { operation: "bind a subPath to", path: bind.target, signal, group: pathGroup(bind.volume) },
      ),
    mountDevice: (device, target, type, options, signal) =>
      helpers.ask(
        { kind: "mountDevice", device, target, type, options },
        { operation: "mount at", path: target, signal, group: pathGroup(device) },
      ),
  };
}

function fileCalls(
  helpers: Helpers,
): Pick<
  Mounts,
  "readBeneath" | "kindOf" | "groupOf" | "makeDirectory" | "makeFile" | "applyFsGroup" | "measure" | "removeTree"
> {
  return {
    async readBeneath(volume, path, bytesMax, signal) {
      const turn = { operation: `read ${path} in`, path: volume, signal };
      return Buffer.from(await helpers.ask({ kind: "readBeneath", volume, path, bytesMax }, turn), "base64");
    },
    kindOf: (path, signal) => helpers.ask({ kind: "kindOf", path }, { operation: "look at", path, signal }),
    groupOf: (path, signal) => helpers.ask({ kind: "groupOf", path }, { operation: "look at", path, signal }),
    makeDirectory: (path, mode, signal) =>
      helpers.ask({ kind: "makeDirectory", path, mode }, { operation: "make directory", path, signal }),
    makeFile: (path, mode, signal) =>
      helpers.ask({ kind: "makeFile", path, mode }, { operation: "make file", path, signal }),
    async applyFsGroup(path, { onProgress, ...change }, signal) {
      const outcome = await helpers.ask(
        { kind: "applyFsGroup", path, ...change },
        { operation: "apply fsGroup to", path, signal, onProgress },
      );
      return { files: outcome.files, refused: outcome.refused, firstRefusal: outcome.firstRefusal };
    },
    async measure(path, how, signal) {
      const { filesystem, usage } = await helpers.ask(
        { kind: "measure", path, how },
        { operation: "measure", path, signal },
      );
      return { filesystem, usage };
    },
    removeTree: (path, signal) => helpers.ask({ kind: "removeTree", path }, { operation: "remove", path, signal }),
  };
}

function deviceCalls(helpers: Helpers): Pick<Mounts, "formatOf" | "check" | "format"> {
  return {
    async formatOf(device, signal) {
      const found = await helpers.ask({ kind: "formatOf", device }, { operation: "probe", path: device, signal });
      return { type: found.type, partitioned: found.partitioned };
    },
    check: (device, signal) => helpers.ask({ kind: "check", device }, { operation: "check", path: device, signal }),
    format: (device, type, signal) =>
      helpers.ask({ kind: "format", device, type }, { operation: "format", path: device, signal }),
  };
}

/** The kernel supports noswap from 6.4 on. */
async function supportsNoswap(): Promise<boolean> {
  const release = await readFile("/proc/sys/kernel/osrelease", "utf8");
  const [major = 0, minor = 0] = release.split(".").map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 4);
}

async function readTable() {
  try {
    return parseMountinfo(await readFile(TABLE, "utf8"));
  } catch (error) {
    throw new MountError("read", TABLE, "other", errorText(error), { cause: error });
  }
}

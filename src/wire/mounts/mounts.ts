/**
 * The Mounts port on this machine. Only the kernel's mount table is read here. Helper processes do everything else;
 * their code is in `helper/`. A call on a file system whose server is dead never returns, and this process has only
 * four threads for such calls.
 */
import { readFile } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { assert } from "../../base/assert.ts";
import { errorText } from "../../base/error-text.ts";
import type { Clock } from "../../ports/clock.ts";
import { MountError, type Mounts } from "../../ports/mounts.ts";
import { HelperPool, POOL_LIMITS, type PoolLimits } from "./helper-pool.ts";
import { type HelperCommand, startHelper } from "./helper-process.ts";
import { parseMountinfo } from "./mountinfo.ts";
import { pathGroup } from "./path-group.ts";
import type { AnswerOf, RequestKind, RequestOf } from "./protocol.ts";

const TABLE = "/proc/self/mountinfo";

export interface MountsOptions {
  readonly clock: Clock;
  /** Starts a helper: this program, called with its hidden command. */
  readonly helper: HelperCommand;
  readonly limits?: PoolLimits;
  readonly limitsMs?: Partial<LimitsMs>;
}

type LimitsMs = Readonly<Record<RequestKind, number>>;

const LOOK_MS = 10_000;
/**
 * Long enough for mount.nfs, which waits for a server for two minutes, and for an unmount that writes out cached data.
 */
const SERVER_MS = 150_000;
/** The limit between two signs of progress. */
const PROGRESS_MS = 30_000;

const LIMITS_MS: LimitsMs = {
  share: LOOK_MS,
  mountMemory: LOOK_MS,
  mountHugepages: LOOK_MS,
  bind: LOOK_MS,
  bindSubPath: LOOK_MS,
  readBeneath: LOOK_MS,
  unmount: SERVER_MS,
  kindOf: LOOK_MS,
  groupOf: LOOK_MS,
  makeDirectory: LOOK_MS,
  makeFile: LOOK_MS,
  applyFsGroup: PROGRESS_MS,
  removeTree: PROGRESS_MS,
  measure: PROGRESS_MS,
  formatOf: LOOK_MS,
  check: SERVER_MS,
  format: SERVER_MS,
  mountDevice: SERVER_MS,
};

const NOTHING = () => {};

interface Turn {
  readonly operation: string;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly group?: string;
  readonly isHarmless?: boolean;
  readonly onProgress?: (files: number) => void;
}

/** Sends requests to helper processes. */
class Helpers {
  readonly #pool: HelperPool;
  readonly #limitsMs: LimitsMs;

  constructor(pool: HelperPool, limitsMs: LimitsMs) {
    this.#pool = pool;
    this.#limitsMs = limitsMs;
  }

  ask<K extends RequestKind>(request: RequestOf<K> & { readonly kind: K }, turn: Turn): Promise<AnswerOf<K>> {
    return askPool<K>(this.#pool, request, turn, this.#limitsMs[request.kind]);
  }
}

export function createMounts({
  clock,
  helper,
  limits = POOL_LIMITS,
  limitsMs = {},
}: MountsOptions): Mounts & { close(): Promise<void> } {
  const pool = new HelperPool(clock, () => startHelper(helper), limits);
  const helpers = new Helpers(pool, { ...LIMITS_MS, ...limitsMs });
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

async function askPool<K extends RequestKind>(
  pool: HelperPool,
  request: RequestOf<K>,
  { operation, path, signal, group = pathGroup(path), isHarmless = false, onProgress = NOTHING }: Turn,
  limitMs: number,
): Promise<AnswerOf<K>> {
  assert(isAbsolute(path), `"${path}" is no absolute path`);
  const reply = await pool.run({ request, operation, path, group, isHarmless, limitMs, signal, onProgress });
  if (reply.kind === "failed") throw new MountError(operation, path, reply.code, reply.detail);
  // The helper is this program: its answer to a kind of request is what the protocol says.
  return reply.value as AnswerOf<K>;
}

async function readTable() {
  try {
    return parseMountinfo(await readFile(TABLE, "utf8"));
  } catch (error) {
    throw new MountError("read", TABLE, "other", errorText(error), { cause: error });
  }
}

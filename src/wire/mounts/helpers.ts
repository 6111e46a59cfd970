/** Sends requests to helper processes, each with its time limit. */
import { isAbsolute } from "node:path";
import { assert } from "../../base/assert.ts";
import { MountError } from "../../ports/mounts.ts";
import type { HelperPool } from "./helper-pool.ts";
import { pathGroup } from "./path-group.ts";
import type { AnswerOf, RequestKind, RequestOf } from "./protocol.ts";

export type LimitsMs = Readonly<Record<RequestKind, number>>;

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
  assignProject: PROGRESS_MS,
  projectUsage: PROGRESS_MS,
  releaseProjects: PROGRESS_MS,
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

export class Helpers {
  readonly #pool: HelperPool;
  readonly #limitsMs: LimitsMs;

  constructor(pool: HelperPool, limitsMs: Partial<LimitsMs>) {
    this.#pool = pool;
    this.#limitsMs = { ...LIMITS_MS, ...limitsMs };
  }

  ask<K extends RequestKind>(request: RequestOf<K> & { readonly kind: K }, turn: Turn): Promise<AnswerOf<K>> {
    return askPool<K>(this.#pool, request, turn, this.#limitsMs[request.kind]);
  }
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

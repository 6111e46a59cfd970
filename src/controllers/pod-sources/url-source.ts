/**
 * Polls static pods from a URL. A failed request or an invalid body changes nothing; an empty body removes all pods.
 */

import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import type { SourceState } from "../../domain/pod/desired-pod.ts";
import type { StaticManifest } from "../../domain/static-pods/static-pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HttpFetch } from "../../ports/http-fetch.ts";
import type { Log } from "../../ports/log.ts";
import { MANIFEST_BYTES_MAX } from "../limits.ts";
import { readManifests, type StaticPodNamer } from "./manifests.ts";

export interface UrlSourceOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly checkEveryMs: number;
  readonly nodeName: string;
}

export interface UrlSourceParts {
  readonly http: HttpFetch;
  readonly clock: Clock;
  readonly log: Log;
  readonly namer: StaticPodNamer;
  /** Changes when a UID that could not be assigned before may be assignable now. */
  readonly listedSandboxes: Latest<unknown>;
  readonly state: LatestCell<SourceState>;
}

const FETCH_LIMIT_MS = 10_000;
/** This many consecutive failures are logged at level 0; later ones at level 4. */
const LOUD_FAILURES = 4;

export async function runUrlSource(
  options: UrlSourceOptions,
  parts: UrlSourceParts,
  shutdown: AbortSignal,
): Promise<void> {
  const source = new UrlSource(options, parts);
  while (!shutdown.aborted) {
    await unlessShutDown(shutdown, async () => {
      const seen = parts.listedSandboxes.version;
      await source.look(shutdown);
      const wakers = source.waits ? [{ cell: parts.listedSandboxes, seen }] : [];
      await waitForChange(parts.clock, wakers, options.checkEveryMs, shutdown);
    });
  }
}

class UrlSource {
  readonly #options: UrlSourceOptions;
  readonly #parts: UrlSourceParts;
  #last: Uint8Array | undefined;
  #unnamed: readonly StaticManifest[] | undefined;
  #failures = 0;

  constructor(options: UrlSourceOptions, parts: UrlSourceParts) {
    this.#options = options;
    this.#parts = parts;
  }

  get waits(): boolean {
    return this.#unnamed !== undefined;
  }

  async look(shutdown: AbortSignal): Promise<void> {
    try {
      await this.#fetch(shutdown);
      if (this.#failures > 0) this.#parts.log.info(0, "Successfully read pods from URL");
      this.#failures = 0;
    } catch (error) {
      if (shutdown.aborted) throw error;
      this.#failures += 1;
      const level = this.#failures <= LOUD_FAILURES ? 0 : 4;
      this.#parts.log.info(level, "Failed to read pods from URL", { error });
    }
    if (this.#unnamed === undefined) return;
    const pods = await this.#parts.namer.nameIfPossible(this.#unnamed, this.#parts.log);
    if (pods === undefined) return;
    this.#unnamed = undefined;
    this.#parts.state.set({ kind: "seen", pods });
  }

  async #fetch(shutdown: AbortSignal): Promise<void> {
    const { url, headers, nodeName } = this.#options;
    const limits = { headers, limitMs: FETCH_LIMIT_MS, bytesMax: MANIFEST_BYTES_MAX };
    const { status, body } = await this.#parts.http.get(url, limits, shutdown);
    if (status !== 200) throw new Error(`${url}: status ${status}`);
    if (body.length === 0) {
      this.#unnamed = [];
      this.#last = undefined;
      throw new Error(`zero-length data received from ${url}`);
    }
    if (this.#last !== undefined && Buffer.from(this.#last).equals(body)) return;
    this.#last = body;
    const read = readManifests(body, { kind: "http", url }, nodeName, { lists: true });
    if (read.kind === "refused") throw new Error(`${url}: ${read.reason}`);
    this.#unnamed = read.manifests;
  }
}

/**
 * The credentials of one credential plugin, shared by all clients of the API server.
 *
 * The plugin runs at most once at a time. While the last credentials are valid no request waits for it: a run for newer
 * ones begins when a fifth of their lifetime is left. A run that fails is logged and repeated with a back-off. Only a
 * request without valid credentials waits for a run, and fails with the plugin's error.
 */
import { backoffMs } from "../../base/backoff.ts";
import { errorText } from "../../base/error-text.ts";
import type { ExecPlugin, PluginCredentials } from "../../domain/identity/exec-credential.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { Connection } from "./connection.ts";
import type { RunExecPlugin } from "./run-exec-plugin.ts";

export interface PluginParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly run: RunExecPlugin;
}

const RETRY = { firstMs: 1_000, maxMs: 30_000 };
/** Without valid credentials every request fails, so the plugin runs again sooner. */
const RETRY_WITHOUT_MS = 2_000;
/** For a plugin that returns the same credentials until they expire. */
const REFRESH_AFTER_MS_MIN = 1_000;
/** For a server that rejects even new credentials. */
const RENEW_EVERY_MS = 1_000;
const REST_SHARE = 0.2;

interface Failure {
  readonly error: Error;
  readonly failedAtMs: number;
  readonly waitMs: number;
}

export class PluginCredentialSource {
  readonly #plugin: ExecPlugin;
  readonly #parts: PluginParts;
  readonly #closing = new AbortController();
  #current: PluginCredentials | undefined;
  #refreshAtWallMs = Number.POSITIVE_INFINITY;
  #endedAtMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #failures = 0;
  #failure: Failure | undefined;

  constructor(plugin: ExecPlugin, parts: PluginParts) {
    this.#plugin = plugin;
    this.#parts = parts;
  }

  /** Rejects with the plugin's error if there are no valid credentials. */
  async credentials(): Promise<PluginCredentials> {
    const valid = this.#valid();
    if (valid !== undefined) {
      if (this.#parts.clock.wallMs() >= this.#refreshAtWallMs) this.#refresh().catch(() => {}); // The run logs its failure.
      return valid;
    }
    await this.#refresh();
    const fresh = this.#valid();
    if (fresh === undefined) throw new Error("getting credentials: they expired at once");
    return fresh;
  }

  /** The API server rejected these credentials: returns whether there are others to try. */
  async renew(rejected: PluginCredentials | undefined): Promise<boolean> {
    if (this.#current === rejected) {
      if (this.#parts.clock.monotonicMs() - this.#endedAtMs < RENEW_EVERY_MS) return false;
      await this.#refresh();
    }
    return this.#current !== rejected;
  }

  /** Kills a running plugin. */
  close(): void {
    this.#closing.abort(new Error("the agent shuts down"));
  }

  #valid(): PluginCredentials | undefined {
    const { expiresWallMs = Number.POSITIVE_INFINITY } = this.#current ?? {};
    return this.#parts.clock.wallMs() < expiresWallMs ? this.#current : undefined;
  }

  /** Joins the current run, or begins one unless the last failed a moment ago. */
  #refresh(): Promise<void> {
    if (this.#running !== undefined) return this.#running;
    const { clock } = this.#parts;
    if (this.#failure !== undefined) {
      const { error, failedAtMs, waitMs } = this.#failure;
      const limitMs = this.#valid() === undefined ? RETRY_WITHOUT_MS : Number.POSITIVE_INFINITY;
      if (clock.monotonicMs() - failedAtMs < Math.min(waitMs, limitMs)) return Promise.reject(error);
    }
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      this.#endedAtMs = clock.monotonicMs();
    });
    return this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random, log, run } = this.#parts;
    try {
      const found = await run(this.#plugin, this.#closing.signal);
      const nowWallMs = clock.wallMs();
      const { expiresWallMs } = found;
      this.#current = found;
      const restMs = expiresWallMs === undefined ? Number.POSITIVE_INFINITY : expiresWallMs - nowWallMs;
      this.#refreshAtWallMs = nowWallMs + Math.max(restMs * (1 - REST_SHARE), REFRESH_AFTER_MS_MIN);
      this.#failures = 0;
      this.#failure = undefined;
    } catch (cause) {
      this.#failures += 1;
      const error = new Error(`getting credentials: ${errorText(cause)}`, { cause });
      const waitMs = backoffMs(RETRY, this.#failures, random.fraction());
      this.#failure = { error, failedAtMs: clock.monotonicMs(), waitMs };
      log.error("The credential plugin failed", error, { command: this.#plugin.command, failures: this.#failures });
      throw error;
    }
  }
}

/** One source per plugin, however many clients use it. */
export class CredentialSources {
  readonly #parts: PluginParts;
  readonly #sources = new Map<ExecPlugin, PluginCredentialSource>();

  constructor(parts: PluginParts) {
    this.#parts = parts;
  }

  /** Undefined: the credentials need no plugin. */
  of({ credentials }: Pick<Connection, "credentials">): PluginCredentialSource | undefined {
    if (credentials.kind !== "exec") return undefined;
    const known = this.#sources.get(credentials.plugin);
    if (known !== undefined) return known;
    const source = new PluginCredentialSource(credentials.plugin, this.#parts);
    this.#sources.set(credentials.plugin, source);
    return source;
  }

  /** Kills running plugins. */
  close(): void {
    for (const source of this.#sources.values()) source.close();
  }
}

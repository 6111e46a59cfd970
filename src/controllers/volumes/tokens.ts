/**
 * Service account tokens for the volumes of pods: requested once, kept in memory, and renewed before they expire. A
 * token that could not be renewed is used until it expires.
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import type { ApiObject } from "../../api/resource.ts";
import { serviceAccounts } from "../../api/resources.ts";
import { errorText } from "../../base/error-text.ts";
import { sleep } from "../../concurrency/sleep.ts";
import type { KnownToken } from "../../domain/volumes/file-volume.ts";
import { TOKEN_JITTER_MS, type TokenSpec, tokenKeptMs, tokenKey, tokenQuestion } from "../../domain/volumes/token.ts";
import { ApiError } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { FORBIDDEN_RETRY_MS, ForbiddenRetry } from "../cluster-objects/forbidden-retry.ts";

export interface TokenPorts {
  /** Undefined on a node without an API server: there are no tokens. */
  readonly api: Pick<ApiServer, "ask"> | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface Kept {
  readonly token: string;
  readonly renewMonotonicMs: number;
  readonly endsMonotonicMs: number;
}

interface TokenAnswer extends ApiObject {
  readonly spec?: { readonly expirationSeconds?: number };
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}

/** The delay after a failed renewal. */
const RETRY_MS = 10_000;

export class Tokens {
  readonly #ports: TokenPorts;
  readonly #pods = new Map<string, Map<string, Kept>>();

  constructor(ports: TokenPorts) {
    this.#ports = ports;
  }

  /**
   * Ensures that a pod's tokens are available. Returns the result for each token, and the delay until the next renewal.
   */
  async ensure(
    pod: Pod,
    specs: readonly TokenSpec[],
    signal: AbortSignal,
  ): Promise<{ readonly token: (spec: TokenSpec) => KnownToken; readonly againMs: number | undefined }> {
    const known = new Map<string, KnownToken>();
    const due: number[] = [];
    await Promise.all(
      specs.map(async (spec) => {
        const { token, againMs } = await this.#one(pod, spec, signal);
        known.set(tokenKey(spec), token);
        if (againMs !== undefined) due.push(againMs);
      }),
    );
    return {
      token: (spec) => known.get(tokenKey(spec)) ?? { kind: "unknown" },
      againMs: due.length === 0 ? undefined : Math.min(...due),
    };
  }

  forget(uid: string): void {
    this.#pods.delete(uid);
  }

  async #one(
    pod: Pod,
    spec: TokenSpec,
    signal: AbortSignal,
  ): Promise<{ readonly token: KnownToken; readonly againMs: number | undefined }> {
    const { clock, log } = this.#ports;
    const uid = pod.metadata?.uid ?? "";
    const kept = this.#pods.get(uid)?.get(tokenKey(spec));
    const nowMs = clock.monotonicMs();
    if (kept !== undefined && nowMs < kept.renewMonotonicMs) {
      return { token: { kind: "present", token: kept.token }, againMs: kept.renewMonotonicMs - nowMs };
    }
    try {
      const fresh = await this.#ask(pod, spec, signal);
      const ofPod = this.#pods.get(uid) ?? new Map<string, Kept>();
      this.#pods.set(uid, ofPod.set(tokenKey(spec), fresh));
      return { token: { kind: "present", token: fresh.token }, againMs: fresh.renewMonotonicMs - clock.monotonicMs() };
    } catch (error) {
      signal.throwIfAborted();
      if (kept !== undefined && clock.monotonicMs() < kept.endsMonotonicMs) {
        log.error("Failed to renew a service account token; the previous token stays in use", error, { uid });
        return { token: { kind: "present", token: kept.token }, againMs: RETRY_MS };
      }
      const cause = error instanceof ApiError ? error.detail : errorText(error);
      return { token: { kind: "failed", message: `failed to fetch token: ${cause}` }, againMs: undefined };
    }
  }

  async #ask(pod: Pod, spec: TokenSpec, signal: AbortSignal): Promise<Kept> {
    const { api, clock, random } = this.#ports;
    if (api === undefined) throw new Error("cannot use TokenManager when kubelet is in standalone mode");
    const namespace = pod.metadata?.namespace ?? "";
    const name = pod.spec?.serviceAccountName ?? "default";
    const askedMs = clock.monotonicMs();
    const question = tokenQuestion(pod, spec);
    const ask = () => api.ask<TokenAnswer>(serviceAccounts, { name, namespace }, "token", question, signal);
    const answer = await this.#unlessEarly(ask, signal);
    const { token, expirationTimestamp } = answer.status ?? {};
    const endsWallMs = Date.parse(expirationTimestamp ?? "");
    if (token === undefined || token === "" || Number.isNaN(endsWallMs))
      throw new Error("the API server's answer holds no token");
    // Use the lifetime that the server returned, not the expiration date: the wall clock of this node may be wrong by
    // hours.
    const seconds = answer.spec?.expirationSeconds;
    const livesMs = seconds === undefined ? Math.max(0, endsWallMs - clock.wallMs()) : seconds * 1000;
    return {
      token,
      renewMonotonicMs: askedMs + tokenKeptMs(livesMs, random.fraction() * TOKEN_JITTER_MS),
      endsMonotonicMs: askedMs + livesMs,
    };
  }

  async #unlessEarly<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const forbiddenRetry = new ForbiddenRetry();
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!forbiddenRetry.shouldRetry(error)) throw error;
      }
      await sleep(this.#ports.clock, FORBIDDEN_RETRY_MS, signal);
    }
  }
}

/**
 * Rotates one certificate: requests a new one when rotation is due or when the template has changed, and retries until
 * one is issued. The wall clock is checked regularly, because it may jump while a timer sleeps.
 */
import { jsonEqual } from "../../base/json-equal.ts";
import { linkSignals } from "../../concurrency/abort.ts";
import { DeadlineError, withDeadline } from "../../concurrency/deadline.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import type { CertificatePair, CertificateTemplate } from "../../domain/identity/certificate-pair.ts";
import {
  type CertificateState,
  failedToRenew,
  lookEveryMs,
  renewed,
  rotateAtWallMs,
  satisfies,
} from "../../domain/identity/certificate-state.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { CertificateStore } from "./certificate-store.ts";
import { awaitCertificate, makeRequest, type RequestParts, RequestRefusedError } from "./request-certificate.ts";

/** Provides the keys of requests. */
export interface KeySource {
  /** With a name, the request may exist already. */
  next(): Promise<{ readonly keyPem: string; readonly name?: string }>;
  /** Called when the certificate is stored or the request is refused. */
  done(outcome: "kept" | "refused"): Promise<void>;
}

export interface RotationParts extends Omit<RequestParts, "api"> {
  /** Evaluated for every request: the credentials depend on whether the certificate is valid. */
  readonly api: () => ApiServer;
  readonly keySource: () => KeySource;
  readonly store: CertificateStore;
  readonly state: LatestCell<CertificateState>;
  readonly signerName: string;
  readonly usagesOf: (keyPem: string) => readonly string[];
  /** Undefined: nothing can be requested yet. */
  readonly template: () => CertificateTemplate | undefined;
  /** The cells that `template` reads. */
  readonly templateFrom: readonly Latest<unknown>[];
  /** Called with the result of each request, which shows whether the server responded. */
  readonly onServer?: (
    outcome: { readonly kind: "issued" } | { readonly kind: "failed"; readonly error: unknown },
  ) => void;
  readonly onRequested?: (name: string) => void;
}

const PAUSE_MS = 1_000;
const ISSUED_WITHIN_MS = 15 * 60_000;
const TRIES_QUICK = 5;
const RETRY_FIRST_MS = 2_000;
const RETRY_LATER_MS = 32_000;

class TemplateChanged extends Error {
  override readonly name = "TemplateChanged";
}

export class Rotation {
  readonly #parts: RotationParts;
  #forced: boolean;
  /** The rotation deadline, with jitter drawn once per pair. */
  #due: { readonly pair: CertificatePair; readonly wallMs: number; readonly notBeforeMonotonicMs: number } | undefined;
  /**
   * The template the current pair was requested with: if a signer omits names, the same template is not requested
   * again.
   */
  #granted: CertificateTemplate | undefined;

  constructor(parts: RotationParts, { forced }: { readonly forced: boolean }) {
    this.#parts = parts;
    this.#forced = forced;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock } = this.#parts;
    for (;;) {
      await this.#untilDue(signal);
      await this.#untilRotated(signal);
      await sleep(clock, PAUSE_MS, signal);
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    for (;;) {
      const waitMs = this.#dueInMs();
      if (waitMs <= 0) return;
      const { pair } = this.#parts.state.value;
      const lookMs = pair === undefined ? Number.POSITIVE_INFINITY : lookEveryMs(pair);
      await this.#templateWithin(Math.min(waitMs, lookMs), signal);
    }
  }

  #dueInMs(): number {
    const { template, state, clock, random, log } = this.#parts;
    const wanted = template();
    if (wanted === undefined) return Number.POSITIVE_INFINITY;
    const { pair } = state.value;
    if (this.#forced || pair === undefined) return 0;
    if (!satisfies(pair, wanted) && !jsonEqual(this.#granted, wanted)) return 0;
    if (this.#due?.pair !== pair) {
      const wallMs = rotateAtWallMs(pair, random.fraction());
      // If our clock is ahead of the signer's, a new certificate seems old already, and so would the next. The clock
      // may be corrected at any moment.
      const pauseMs = this.#granted === undefined ? 0 : lookEveryMs(pair);
      this.#due = { pair, wallMs, notBeforeMonotonicMs: clock.monotonicMs() + pauseMs };
      const at = (wallMs: number) => new Date(wallMs).toISOString();
      log.info(2, "Certificate rotation deadline determined", {
        expiration: at(pair.facts.notAfterWallMs),
        deadline: at(this.#due.wallMs),
      });
    }
    return Math.max(this.#due.wallMs - clock.wallMs(), this.#due.notBeforeMonotonicMs - clock.monotonicMs());
  }

  /** Returns when the certificate was rotated, or when the template changed or became undefined. */
  async #untilRotated(signal: AbortSignal): Promise<void> {
    const { clock, random, log, state } = this.#parts;
    for (let failures = 0; ; ) {
      try {
        await this.#rotate(signal);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof TemplateChanged) {
          log.info(2, "Certificate template changed, rotating");
          return;
        }
        failures += 1;
        state.set(failedToRenew(state.value));
        const text =
          failures === TRIES_QUICK
            ? "Reached backoff limit, still unable to rotate certs"
            : "A certificate could not be had";
        log.error(text, error, { failures });
        const quickMs = RETRY_FIRST_MS * 2 ** (failures - 1) * (1 + 0.1 * random.fraction());
        await sleep(clock, failures < TRIES_QUICK ? quickMs : RETRY_LATER_MS, signal);
      }
    }
  }

  async #rotate(signal: AbortSignal): Promise<void> {
    const { clock, log, state, store, template, keySource, onServer } = this.#parts;
    const wanted = template();
    if (wanted === undefined) throw new TemplateChanged();
    log.info(2, "Rotating certificates");
    const source = keySource();
    const key = await source.next();
    try {
      const certificatePem = await this.#ask(wanted, key, signal);
      const pair = await store.update(certificatePem, key.keyPem);
      this.#forced = false;
      this.#granted = wanted;
      state.set(renewed(state.value, pair, clock.wallMs()));
      onServer?.({ kind: "issued" });
      await source.done("kept");
    } catch (error) {
      if (error instanceof RequestRefusedError) await source.done("refused");
      throw error;
    }
  }

  async #ask(
    wanted: CertificateTemplate,
    key: { readonly keyPem: string; readonly name?: string },
    signal: AbortSignal,
  ): Promise<string> {
    const { api, signerName, usagesOf, clock, onServer, onRequested } = this.#parts;
    const parts = { ...this.#parts, api: api() };
    const wish = { ...key, template: wanted, signerName, usages: usagesOf(key.keyPem) };
    const made = await makeRequest(parts, wish, signal).catch((error: unknown) => {
      if (!signal.aborted) onServer?.({ kind: "failed", error });
      throw error;
    });
    onRequested?.(made.metadata?.name ?? "");
    try {
      return await withDeadline(clock, ISSUED_WITHIN_MS, signal, (limited) =>
        this.#unlessTemplateChanges(wanted, limited, (s) => awaitCertificate(parts, made, s)),
      );
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw new Error("Certificate request was not signed: timed out waiting for the condition", { cause: error });
    }
  }

  /** Rejects with `TemplateChanged` as soon as another template is wanted. */
  async #unlessTemplateChanges<T>(
    wanted: CertificateTemplate,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    using linked = linkSignals(signal);
    const follow = async () => {
      for (;;) {
        await this.#templateWithin(Number.POSITIVE_INFINITY, linked.signal);
        const now = this.#parts.template();
        if (now !== undefined && !jsonEqual(now, wanted)) linked.abort(new TemplateChanged());
      }
    };
    // Rejects only when our own signal aborts.
    const following = follow().catch(() => undefined);
    try {
      return await work(linked.signal);
    } finally {
      linked.abort(new Error("no longer waiting"));
      await following;
    }
  }

  async #templateWithin(limitMs: number, signal: AbortSignal): Promise<void> {
    const { clock, templateFrom } = this.#parts;
    const cells = templateFrom.map((cell) => ({ cell, seen: cell.version }));
    await waitForChange(clock, cells, limitMs, signal);
  }
}

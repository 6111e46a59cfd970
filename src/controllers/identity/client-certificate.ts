/**
 * Maintains the client certificate for the API server: loads it from disk or the kubeconfig, requests one if there is
 * none, and renews it before it expires. Rejects when only a restart can help, because startup reads the bootstrap
 * credentials again: no valid certificate for five minutes while the server responds.
 */

import { linkSignals, unlessShutDown } from "../../concurrency/abort.ts";
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import { type CertificatePair, nodeSubject } from "../../domain/identity/certificate-pair.ts";
import { type CertificateState, lookEveryMs, validPair } from "../../domain/identity/certificate-state.ts";
import { ApiError } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { CertificateStore } from "./certificate-store.ts";
import { CLIENT_SIGNER, clientUsages, firstRequestKey, freshKey } from "./client-keys.ts";
import type { PendingKey } from "./pending-key.ts";
import type { RequestParts } from "./request-certificate.ts";
import { type KeySource, Rotation } from "./rotation.ts";

export interface ClientCertificateParts extends Omit<RequestParts, "api"> {
  readonly nodeName: string;
  /** Authenticates with the current client certificate. */
  readonly api: ApiServer;
  /** Uses the bootstrap credentials, for as long as there is no valid certificate. */
  readonly bootstrap: ApiServer;
  readonly store: CertificateStore;
  readonly pendingKey: PendingKey;
  /** Embedded in the kubeconfig: used if the store has no valid pair, and replaced at once. */
  readonly embedded: CertificatePair | undefined;
  readonly clientCertificate: LatestCell<CertificateState>;
  /** Makes every API client present this certificate from now on. */
  readonly show: (pair: CertificatePair) => void;
}

const INVALID_LOOK_EVERY_MS = 10_000;
const INVALID_MS_MAX = 5 * 60_000;

export async function runClientCertificate(parts: ClientCertificateParts, shutdown: AbortSignal): Promise<void> {
  const loop = new ClientCertificate(parts);
  await unlessShutDown(shutdown, () => loop.run(shutdown));
}

class ClientCertificate {
  readonly #parts: ClientCertificateParts;
  #isServerHealthy = false;
  #shown: CertificatePair | undefined;

  constructor(parts: ClientCertificateParts) {
    this.#parts = parts;
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const forced = await this.#begin();
    const rotation = new Rotation(
      {
        ...this.#parts,
        api: () => (this.#valid() === undefined ? this.#parts.bootstrap : this.#parts.api),
        keySource: () => this.#keySource(),
        state: this.#parts.clientCertificate,
        signerName: CLIENT_SIGNER,
        usagesOf: (keyPem) => clientUsages(this.#parts.keys.describe(keyPem).algorithm),
        template: () => this.#template,
        templateFrom: [],
        onServer: (outcome) => {
          this.#isServerHealthy = outcome.kind === "issued" || answers(outcome.error);
        },
      },
      { forced },
    );
    using linked = linkSignals(shutdown);
    const both = [rotation.run(linked.signal), this.#watchOver(linked.signal)];
    try {
      await Promise.race(both);
    } finally {
      linked.abort(new Error("the other half has ended"));
      await Promise.allSettled(both);
    }
  }

  get #template() {
    return { subject: nodeSubject(this.#parts.nodeName), dnsNames: [], ipAddresses: [] };
  }

  #valid(): CertificatePair | undefined {
    return validPair(this.#parts.clientCertificate.value, this.#parts.clock.wallMs());
  }

  /** Loads an existing pair. Returns whether the pair must be replaced at once. */
  async #begin(): Promise<boolean> {
    const { store, embedded, clientCertificate: cell, clock, log } = this.#parts;
    const stored = await store.current();
    if (stored !== undefined && validPair({ pair: stored }, clock.wallMs()) !== undefined) {
      cell.set({ ...cell.value, pair: stored });
      this.#show();
      return false;
    }
    if (embedded === undefined) return true;
    cell.set({ ...cell.value, pair: embedded });
    this.#show();
    try {
      await store.update(embedded.certificatePem, embedded.keyPem);
    } catch (error) {
      log.error("Unable to set the cert/key pair to the bootstrap certificate", error);
    }
    return true;
  }

  #keySource(): KeySource {
    return this.#valid() === undefined ? firstRequestKey(this.#parts) : freshKey(this.#parts.keys);
  }

  /** Presents new certificates. Throws when no certificate has been valid for too long while the server responds. */
  async #watchOver(signal: AbortSignal): Promise<never> {
    const { clock, log, clientCertificate: cell } = this.#parts;
    let validAtMs = clock.monotonicMs();
    for (;;) {
      const seen = cell.version;
      this.#show();
      const nowMs = clock.monotonicMs();
      const valid = this.#valid();
      if (valid !== undefined) validAtMs = nowMs;
      else if (nowMs - validAtMs > INVALID_MS_MAX) {
        if (this.#isServerHealthy)
          throw new Error("No valid client certificate is found and the server is responsive, exiting.");
        log.error(
          "No valid client certificate is found but the server is not responsive. A restart may be necessary to retrieve new initial credentials.",
          new Error(`none for ${Math.round((nowMs - validAtMs) / 1000)} s`),
        );
      }
      const everyMs = valid === undefined ? INVALID_LOOK_EVERY_MS : lookEveryMs(valid);
      await waitForChange(clock, [{ cell, seen }], everyMs, signal);
    }
  }

  #show(): void {
    const { clientCertificate: cell, log, show } = this.#parts;
    const { pair } = cell.value;
    if (pair === undefined || pair === this.#shown) return;
    if (this.#shown !== undefined)
      log.info(0, "Certificate rotation detected, shutting down client connections to start using new credentials");
    show(pair);
    this.#shown = pair;
  }
}

/** Whether the failure comes from the API server itself, not from something in front of it. */
const answers = (error: unknown) => error instanceof ApiError && [401, 403, 404].includes(error.status);

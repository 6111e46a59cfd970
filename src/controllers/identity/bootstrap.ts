/**
 * Gets the first client certificate before anything else starts, for a kubelet without certificate rotation. With
 * rotation, client-certificate.ts requests the certificate beside other work.
 */
import type { CertificateSigningRequest } from "../../api/gen/certificates-v1.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { type CertificatePair, nodeSubject } from "../../domain/identity/certificate-pair.ts";
import { ApiUnreachableError } from "../../ports/api-error.ts";
import type { CertificateStore } from "./certificate-store.ts";
import { CLIENT_SIGNER, clientUsages, firstRequestKey } from "./client-keys.ts";
import type { PendingKey } from "./pending-key.ts";
import {
  awaitCertificate,
  makeRequest,
  type RequestParts,
  RequestRefusedError,
  type Wish,
} from "./request-certificate.ts";

export interface BootstrapParts extends RequestParts {
  readonly nodeName: string;
  readonly store: CertificateStore;
  readonly pendingKey: PendingKey;
}

const ISSUED_WITHIN_MS = 3_600_000;
const REACHED_WITHIN_MS = 60_000;
const REACH_EVERY_MS = 2_000;

/**
 * Rejects if no certificate will be issued, and when the signal aborts. A repeated call continues with the existing
 * request.
 */
export async function bootstrapCertificate(parts: BootstrapParts, signal: AbortSignal): Promise<CertificatePair> {
  const { keys, nodeName, store, clock, log } = parts;
  const source = firstRequestKey(parts);
  const key = await source.next();
  const { algorithm } = keys.describe(key.keyPem);
  const template = { subject: nodeSubject(nodeName), dnsNames: [], ipAddresses: [] };
  const wish = { ...key, template, signerName: CLIENT_SIGNER, usages: clientUsages(algorithm) };
  try {
    const made = await requestOnceReached(parts, wish, signal);
    log.info(2, "Waiting for client certificate to be issued", { csr: made.metadata?.name });
    const certificatePem = await withDeadline(clock, ISSUED_WITHIN_MS, signal, (limited) =>
      awaitCertificate(parts, made, limited),
    );
    const pair = await store.update(certificatePem, key.keyPem);
    await source.done("kept");
    return pair;
  } catch (error) {
    if (error instanceof RequestRefusedError) await source.done("refused");
    throw error;
  }
}

/** A machine and its control plane often boot at the same time. */
async function requestOnceReached(
  parts: BootstrapParts,
  wish: Wish,
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  const { clock, log } = parts;
  const untilMs = clock.monotonicMs() + REACHED_WITHIN_MS;
  for (;;) {
    try {
      return await makeRequest(parts, wish, signal);
    } catch (error) {
      if (!(error instanceof ApiUnreachableError) || clock.monotonicMs() >= untilMs) throw error;
      log.info(0, "Failed to connect to apiserver", { err: error.message });
      await sleep(clock, REACH_EVERY_MS, signal);
    }
  }
}

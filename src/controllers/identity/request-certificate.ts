/**
 * Requests one certificate from the cluster: creates the CertificateSigningRequest, or reuses the one of the same name,
 * and follows it until it is issued, denied or deleted. The caller's signal bounds the wait.
 */
import type { CertificateSigningRequest } from "../../api/gen/certificates-v1.ts";
import { certificateSigningRequests } from "../../api/resources.ts";
import { base64Bytes, encodeBase64 } from "../../base/base64.ts";
import { bytesEqual } from "../../base/bytes.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import { linkSignals } from "../../concurrency/abort.ts";
import { startInformer } from "../../concurrency/informer.ts";
import type { CertificateTemplate } from "../../domain/identity/certificate-pair.ts";
import { pemText } from "../../domain/identity/pem.ts";
import { type RequestState, requestState, stillFits } from "../../domain/identity/request-state.ts";
import { REQUEST_LABEL } from "../../domain/identity/x509-read.ts";
import { requestToSign, signed } from "../../domain/identity/x509-write.ts";
import { isAlreadyExists } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Keys } from "../../ports/keys.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";

export interface RequestParts {
  readonly api: Pick<ApiServer, "create" | "get" | "list" | "watch">;
  readonly clock: Clock;
  readonly random: Random;
  readonly keys: Keys;
  readonly log: Log;
}

export interface Wish {
  readonly template: CertificateTemplate;
  readonly keyPem: string;
  readonly signerName: string;
  readonly usages: readonly string[];
  /** If omitted, the server generates a name and every request is a new one. */
  readonly name?: string;
}

/** This request will never yield a certificate; another one may. */
export class RequestRefusedError extends Error {
  override readonly name = "RequestRefusedError";
}

/**
 * Returns the request as the server stores it. Rejects with the API's error, or with `RequestRefusedError` if an
 * existing request of that name does not fit.
 */
export async function makeRequest(
  { api, clock, keys, log }: RequestParts,
  wish: Wish,
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  const { algorithm, publicKeyDer } = keys.describe(wish.keyPem);
  const toSign = requestToSign(wish.template, publicKeyDer);
  const bytes = signed(toSign, algorithm, keys.sign(wish.keyPem, toSign));
  const request = encodeBase64(utf8Bytes(pemText({ label: REQUEST_LABEL, bytes })));
  const object: CertificateSigningRequest = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: wish.name === undefined ? { generateName: "csr-" } : { name: wish.name },
    spec: { request, signerName: wish.signerName, usages: [...wish.usages] },
  };
  try {
    const made = await api.create(certificateSigningRequests, object, signal);
    log.info(2, "Certificate signing request created", { csr: made.metadata?.name, signer: wish.signerName });
    return made;
  } catch (error) {
    if (wish.name === undefined || !isAlreadyExists(error)) throw error;
    const found = await api.get(certificateSigningRequests, { name: wish.name }, signal);
    const fit = stillFits(found, wish, (der) => bytesEqual(der, publicKeyDer), clock.wallMs());
    if (fit !== true) throw new RequestRefusedError(`retrieved csr is not compatible: ${fit}`, { cause: error });
    log.info(0, "csr for this node already exists, reusing", { csr: wish.name });
    return found;
  }
}

/**
 * Returns the certificate as PEM. Rejects with `RequestRefusedError` once none will be issued, and with the signal's
 * reason.
 */
export async function awaitCertificate(
  { api, clock, random, log }: RequestParts,
  { metadata }: CertificateSigningRequest,
  signal: AbortSignal,
): Promise<string> {
  const { name = "", uid = "" } = metadata ?? {};
  using waiting = linkSignals(signal);
  const selection = { fields: `metadata.name=${name}` };
  const onTrouble = (detail: string) =>
    log.info(2, "Error watching a certificate signing request", { csr: name, detail });
  const informer = startInformer(
    { api, resource: certificateSigningRequests, selection, clock, random, onTrouble },
    waiting.signal,
  );
  try {
    for (;;) {
      const { version, value } = informer.store;
      const state: RequestState = value.synced ? requestState(value.objects.get(name), uid) : { kind: "waiting" };
      if (state.kind === "refused") throw new RequestRefusedError(state.why);
      if (state.kind === "issued") return certificateText(state.certificate);
      await informer.store.changed(version, waiting.signal);
    }
  } finally {
    waiting.abort(new Error("no longer waiting"));
    await informer.ended;
  }
}

function certificateText(certificate: string): string {
  const bytes = base64Bytes(certificate);
  const text = bytes === undefined ? undefined : utf8Text(bytes);
  if (text === undefined) throw new RequestRefusedError("the certificate that was issued is no text");
  return text;
}

/** Parses certificates from PEM, or says why they are invalid. */
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { errorText } from "../base/error-text.ts";
import type { ServingCertificate } from "../domain/identity/certificate-pair.ts";

const BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** In the order of the bundle. Throws if a certificate is invalid or if there is none. */
export function parseCertificates(pem: string): readonly X509Certificate[] {
  const certificates = [...pem.matchAll(BLOCK)].map(([block]) => new X509Certificate(block));
  if (certificates.length === 0) throw new Error("data does not contain any valid RSA or ECDSA certificates");
  return certificates;
}

/** Why the CA bundle cannot verify clients; undefined if it can. */
export const bundleFault = (pem: string): string | undefined => faultIn(() => parseCertificates(pem));

/** Why the serving certificate is unusable: it is invalid, or the key does not match. Undefined if it is usable. */
export const servingFault = ({ certificatePem, keyPem }: ServingCertificate): string | undefined =>
  faultIn(() => {
    parseCertificates(certificatePem);
    createSecureContext({ cert: certificatePem, key: keyPem });
  });

function faultIn(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

/**
 * Publishes the serving certificate from files that the operator maintains. Changed files are read again; while the new
 * content is broken, the previous certificate is kept.
 */
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import type { ServingCertificate } from "../../domain/identity/certificate-pair.ts";
import { type WatchedFilesParts, watchFiles } from "./watched-files.ts";

export interface CertificateFilesParts extends WatchedFilesParts {
  readonly servingCertificate: LatestCell<ServingCertificate | undefined>;
  /** Why the certificate cannot be served; undefined if it can. */
  readonly servingFault: (certificate: ServingCertificate) => string | undefined;
}

export const runCertificateFiles = (
  files: { readonly certificate: string; readonly key: string; readonly reload: boolean },
  parts: CertificateFilesParts,
  shutdown: AbortSignal,
): Promise<void> =>
  watchFiles<ServingCertificate>(
    {
      what: "the serving certificate",
      paths: [files.certificate, files.key],
      reload: files.reload,
      parse: ([certificatePem = "", keyPem = ""]) => ({ certificatePem, keyPem }),
      fault: parts.servingFault,
      cell: parts.servingCertificate,
    },
    parts,
    shutdown,
  );

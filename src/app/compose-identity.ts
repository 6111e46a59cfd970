/** The loops of the node's certificates: the one it shows to the API server, and the one it serves. */
import type { Family } from "../base/metrics/family.ts";
import { runCertificateFiles } from "../controllers/identity/certificate-files.ts";
import { CertificateStore } from "../controllers/identity/certificate-store.ts";
import { runClientCertificate } from "../controllers/identity/client-certificate.ts";
import { PendingKey } from "../controllers/identity/pending-key.ts";
import { ensureSelfSigned, makeSelfSigned } from "../controllers/identity/self-signed.ts";
import { runServingCertificate } from "../controllers/identity/serving-certificate.ts";
import type { CertificatePair, PairPaths } from "../domain/identity/certificate-pair.ts";
import type { ServingCertificate } from "../domain/identity/serving-certificate.ts";
import { clientCertificateFamilies, servingCertificateFamilies } from "../domain/metrics/identity-metrics.ts";
import type { ApiServer } from "../ports/api-server.ts";
import type { Loop, Wiring } from "./compose.ts";

/** What the loop of the client certificate works on: how the clients of the API server prove who they are. */
export interface ClientCredentials {
  /** By other credentials than the certificate, while there is none that is valid. */
  readonly bootstrap: ApiServer;
  readonly embedded: CertificatePair | undefined;
  /** Where the kubeconfig finds its certificate, if not in the store. */
  readonly certificateFiles: PairPaths | undefined;
  /** From now on every client shows this. */
  readonly show: (pair: CertificatePair) => void;
}

export function clientCertificateLoops({
  ports,
  options,
  cells,
}: Pick<Wiring, "ports" | "options" | "cells">): readonly Loop[] {
  const credentials = ports.api?.credentials;
  if (ports.api === undefined || credentials === undefined) return [];
  const common = { ...ports, ...cells, log: ports.logOf("identity"), folder: options.folders.certificates };
  const { certificateFiles } = credentials;
  const elsewhere = certificateFiles === undefined ? [] : [certificateFiles];
  const parts = {
    ...common,
    ...credentials,
    nodeName: options.node.name,
    api: ports.api.main,
    store: new CertificateStore({ ...common, prefix: "kubelet-client", elsewhere }),
    pendingKey: new PendingKey(common),
  };
  return [(shutdown) => runClientCertificate(parts, shutdown)];
}

/** Exactly one of them writes what is served. `fault` says what is wrong with a pair of files. */
export function servingLoops(
  { ports, options, cells }: Pick<Wiring, "ports" | "options" | "cells">,
  servingFault: (pair: ServingCertificate) => string | undefined,
): readonly Loop[] {
  const { serving } = options.identity;
  const log = ports.logOf("identity");
  const folder = options.folders.certificates;
  const names = { host: options.node.name, addresses: options.node.ips };
  const files = { ...ports, ...cells, log, servingFault };
  switch (serving.kind) {
    case "files":
      return [(shutdown) => runCertificateFiles({ ...serving.files, reload: serving.reload }, files, shutdown)];
    case "selfSigned":
      return [
        async (shutdown) => {
          const made = await ensureSelfSigned(files, folder, names);
          await runCertificateFiles({ ...made, reload: serving.reload }, files, shutdown);
        },
      ];
    case "cluster": {
      const fallback = serving.fallback ? makeSelfSigned(ports, names) : undefined;
      if (ports.api === undefined) return [async () => cells.servingCertificate.set(fallback)];
      const elsewhere = serving.files === undefined ? [] : [serving.files];
      const store = new CertificateStore({ ...ports, log, folder, prefix: "kubelet-server", elsewhere });
      const { dnsIsEnough } = serving;
      const parts = { ...files, api: ports.api.main, nodeName: options.node.name, store, fallback, dnsIsEnough };
      return [(shutdown) => runServingCertificate(parts, shutdown)];
    }
  }
}

/** Of the certificates that the node asks for itself. */
export function certificateFamilies({
  ports,
  options,
  cells,
}: Pick<Wiring, "ports" | "options" | "cells">): readonly Family[] {
  const { rotates, serving } = options.identity;
  const wallMs = ports.clock.wallMs();
  return [
    ...(rotates ? clientCertificateFamilies(cells.clientCertificate.value, wallMs) : []),
    ...(serving.kind === "cluster" ? servingCertificateFamilies(cells.servingState.value, wallMs) : []),
  ];
}

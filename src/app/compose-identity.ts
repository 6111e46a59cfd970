/** Loops of the node's certificates: the client certificate for the API server, and the serving certificate. */
import type { Family } from "../base/metrics/family.ts";
import { runCertificateFiles } from "../controllers/identity/certificate-files.ts";
import { CertificateStore } from "../controllers/identity/certificate-store.ts";
import { runClientCertificate } from "../controllers/identity/client-certificate.ts";
import { PendingKey } from "../controllers/identity/pending-key.ts";
import { ensureSelfSigned, makeSelfSigned } from "../controllers/identity/self-signed.ts";
import { runServingCertificate } from "../controllers/identity/serving-certificate.ts";
import type { ServingCertificate } from "../domain/identity/certificate-pair.ts";
import { clientCertificateFamilies, servingCertificateFamilies } from "../domain/metrics/identity-metrics.ts";
import type { Loop, Wiring } from "./wiring.ts";

export function clientCertificateLoops({
  ports,
  options,
  cells,
}: Pick<Wiring, "ports" | "options" | "cells">): readonly Loop[] {
  const credentials = ports.api?.credentials;
  if (ports.api === undefined || credentials === undefined) return [];
  const { clock, random, files, keys, api } = ports;
  const log = ports.logOf("identity");
  const directory = options.directories.certificates;
  const { certificateFiles } = credentials;
  const elsewhere = certificateFiles === undefined ? [] : [certificateFiles];
  const parts = {
    api: api.main,
    clock,
    random,
    keys,
    log,
    nodeName: options.node.name,
    bootstrap: credentials.bootstrap,
    embedded: credentials.embedded,
    show: credentials.show,
    clientCertificate: cells.clientCertificate,
    store: new CertificateStore({ files, keys, clock, log, directory, prefix: "kubelet-client", elsewhere }),
    pendingKey: new PendingKey({ files, keys, log, directory }),
  };
  return [(shutdown) => runClientCertificate(parts, shutdown)];
}

/**
 * Returns exactly one loop, the writer of the serving certificate. `servingFault` says what is wrong with a pair of
 * files.
 */
export function servingLoops(
  { ports, options, cells }: Pick<Wiring, "ports" | "options" | "cells">,
  servingFault: (pair: ServingCertificate) => string | undefined,
): readonly Loop[] {
  const { serving } = options.identity;
  const log = ports.logOf("identity");
  const directory = options.directories.certificates;
  const names = { host: options.node.name, addresses: options.node.ips };
  const { clock, random, files, keys, api } = ports;
  const { servingCertificate, servingState, ownNode } = cells;
  const parts = { clock, files, log, servingCertificate, servingFault };
  switch (serving.kind) {
    case "files":
      return [(shutdown) => runCertificateFiles({ ...serving.files, reload: serving.reload }, parts, shutdown)];
    case "selfSigned":
      return [
        async (shutdown) => {
          const made = await ensureSelfSigned({ clock, random, keys, files, log }, directory, names);
          await runCertificateFiles({ ...made, reload: serving.reload }, parts, shutdown);
        },
      ];
    case "cluster": {
      const fallback = serving.fallback ? makeSelfSigned({ clock, random, keys }, names) : undefined;
      if (api === undefined) return [async () => servingCertificate.set(fallback)];
      const elsewhere = serving.files === undefined ? [] : [serving.files];
      const store = new CertificateStore({ files, keys, clock, log, directory, prefix: "kubelet-server", elsewhere });
      const asking = {
        api: api.main,
        clock,
        random,
        keys,
        log,
        ownNode,
        servingState,
        servingCertificate,
        nodeName: options.node.name,
        store,
        fallback,
        dnsIsEnough: serving.dnsIsEnough,
      };
      return [(shutdown) => runServingCertificate(asking, shutdown)];
    }
  }
}

/** Metrics of the certificates that the node requests itself. */
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

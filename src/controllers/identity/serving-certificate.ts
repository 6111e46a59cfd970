/**
 * Maintains the serving certificate signed by the cluster. It is requested once the node has an address, again when the
 * addresses change, and renewed before it expires. Without a valid certificate the fallback is served; without a
 * fallback nothing is served.
 */

import { linkSignals, unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import type { ServingCertificate } from "../../domain/identity/certificate-pair.ts";
import { type CertificateState, lookEveryMs, validPair } from "../../domain/identity/certificate-state.ts";
import { servingTemplate } from "../../domain/identity/serving-names.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { CertificateStore } from "./certificate-store.ts";
import { freshKey } from "./client-keys.ts";
import type { RequestParts } from "./request-certificate.ts";
import { Rotation } from "./rotation.ts";

export interface ServingCertificateParts extends Omit<RequestParts, "api"> {
  readonly nodeName: string;
  readonly api: ApiServer;
  readonly store: CertificateStore;
  /** A node with DNS names but no IP address may request a certificate too. */
  readonly dnsIsEnough: boolean;
  readonly fallback: ServingCertificate | undefined;
  readonly ownNode: Latest<OwnNode>;
  readonly servingState: LatestCell<CertificateState>;
  readonly servingCertificate: LatestCell<ServingCertificate | undefined>;
}

const SERVING_SIGNER = "kubernetes.io/kubelet-serving";

export async function runServingCertificate(parts: ServingCertificateParts, shutdown: AbortSignal): Promise<void> {
  const { store, servingState: state, ownNode, nodeName, dnsIsEnough, log } = parts;
  state.set({ ...state.value, pair: await store.current() });
  const rotation = new Rotation(
    {
      ...parts,
      state,
      api: () => parts.api,
      keySource: () => freshKey(parts.keys),
      signerName: SERVING_SIGNER,
      usagesOf: () => ["digital signature", "server auth"],
      template: () => {
        const own = ownNode.value;
        const addresses = own.kind === "present" ? (own.node.status?.addresses ?? []) : [];
        return servingTemplate(nodeName, addresses, dnsIsEnough);
      },
      templateFrom: [ownNode],
      onRequested: (csr) =>
        log.info(0, "Requested a serving certificate; the request needs approval", {
          csr,
          approve: `kubectl certificate approve ${csr}`,
          meanwhile:
            parts.fallback === undefined ? "the last one, if it is valid" : "the last one, or a self-signed one",
        }),
    },
    { forced: false },
  );
  using linked = linkSignals(shutdown);
  const both = [rotation.run(linked.signal), publish(parts, linked.signal)];
  try {
    await unlessShutDown(shutdown, () => Promise.race(both));
  } finally {
    linked.abort(new Error("the other half has ended"));
    await Promise.allSettled(both);
  }
}

const AGAIN_MS = 10_000;

async function publish(parts: ServingCertificateParts, signal: AbortSignal): Promise<never> {
  const { servingState: state, servingCertificate: served, fallback, clock } = parts;
  for (;;) {
    const seen = state.version;
    const pair = validPair(state.value, clock.wallMs());
    const next = pair ?? fallback;
    if (served.value?.certificatePem !== next?.certificatePem)
      served.set(next === undefined ? undefined : { certificatePem: next.certificatePem, keyPem: next.keyPem });
    // An expired certificate may become valid again if the clock was ahead and is corrected.
    const known = pair ?? state.value.pair;
    const lookMs = known === undefined ? Number.POSITIVE_INFINITY : pair === undefined ? AGAIN_MS : lookEveryMs(known);
    await waitForChange(clock, [{ cell: state, seen }], lookMs, signal);
  }
}

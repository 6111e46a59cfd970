/**
 * The certificates by which the node is known: how long they hold, how old they were when they were renewed, and how often that failed. Only
 * those are told of that the node asks for itself, as with the Go kubelet: nobody is to be warned of a file's end that others look after.
 */
import type { Family } from "../../base/metrics/family.ts";
import { type CertificateState, ttlSeconds } from "../identity/certificate-state.ts";

const one = (value: number) => [{ labels: [], value }];

export const clientCertificateFamilies = (state: CertificateState, wallMs: number): readonly Family[] => [
  {
    kind: "gauge",
    name: "kubelet_certificate_manager_client_ttl_seconds",
    help: "How long the certificate still holds by which this node asks.",
    samples: one(ttlSeconds(state, wallMs)),
  },
  {
    kind: "counter",
    name: "kubelet_certificate_manager_client_expiration_renew_errors",
    help: "Times that the certificate by which this node asks could not be renewed.",
    samples: one(state.renewErrors),
  },
];

export const servingCertificateFamilies = (state: CertificateState, wallMs: number): readonly Family[] => [
  {
    kind: "gauge",
    name: "kubelet_certificate_manager_server_ttl_seconds",
    help: "How long the certificate still holds by which this node answers.",
    samples: one(ttlSeconds(state, wallMs)),
  },
  {
    kind: "histogram",
    name: "kubelet_certificate_manager_server_rotation_seconds",
    help: "How old the certificates were by which this node answered when others took their place.",
    samples: [state.rotationAges],
  },
  {
    kind: "counter",
    name: "kubelet_server_expiration_renew_errors",
    help: "Times that the certificate by which this node answers could not be renewed.",
    samples: one(state.renewErrors),
  },
];

/**
 * Metrics of the node's certificates: the time to expiry, the ages at rotation, and the failed renewals. Like the Go
 * kubelet, they cover only certificates that the node requests itself: nobody should be alerted to the expiry of a file
 * that others maintain.
 */
import type { Family } from "../../base/metrics/family.ts";
import { type CertificateState, ttlSeconds } from "../identity/certificate-state.ts";

const one = (value: number) => [{ labels: [], value }];

export const clientCertificateFamilies = (state: CertificateState, wallMs: number): readonly Family[] => [
  {
    kind: "gauge",
    name: "kubelet_certificate_manager_client_ttl_seconds",
    help: "[ALPHA] Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value is in seconds until certificate expiry (negative if already expired). If client certificate is invalid or unused, the value will be +INF.",
    samples: one(ttlSeconds(state, wallMs)),
  },
  {
    kind: "counter",
    name: "kubelet_certificate_manager_client_expiration_renew_errors",
    help: "[ALPHA] Counter of certificate renewal errors.",
    samples: one(state.renewErrors),
  },
];

export const servingCertificateFamilies = (state: CertificateState, wallMs: number): readonly Family[] => [
  {
    kind: "gauge",
    name: "kubelet_certificate_manager_server_ttl_seconds",
    help: "[ALPHA] Gauge of the shortest TTL (time-to-live) of the Kubelet's serving certificate. The value is in seconds until certificate expiry (negative if already expired). If serving certificate is invalid or unused, the value will be +INF.",
    samples: one(ttlSeconds(state, wallMs)),
  },
  {
    kind: "histogram",
    name: "kubelet_certificate_manager_server_rotation_seconds",
    help: "[ALPHA] Histogram of the number of seconds the previous certificate lived before being rotated.",
    samples: [state.rotationAges],
  },
  {
    kind: "counter",
    name: "kubelet_server_expiration_renew_errors",
    help: "[ALPHA] Counter of certificate renewal errors.",
    samples: one(state.renewErrors),
  },
];

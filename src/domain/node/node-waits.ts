/** What the agent waits for before the node can work as configured, from the state of the node's loops. */
import { type CertificateState, validPair } from "../identity/certificate-state.ts";
import { type QosCgroupState, qosCgroupTroubles } from "../resources/qos-cgroup-state.ts";
import type { NotReadyReasons } from "./node-status.ts";
import type { OwnNode, Registration } from "./own-node.ts";
import { networkTroubles, type RuntimeHealth, runtimeTroubles } from "./runtime-health.ts";

export interface NodeWait {
  /** What has to answer or to appear. */
  readonly what: string;
  readonly why: string;
}

export interface WaitInputs {
  readonly nowWallMs: number;
  readonly runtime: RuntimeHealth;
  readonly qosCgroups: QosCgroupState;
  readonly sourcesReady: boolean;
  /** Undefined: a node without an API server. */
  readonly cluster: ClusterInputs | undefined;
}

export interface ClusterInputs {
  readonly registration: Registration;
  readonly ownNode: OwnNode;
  readonly notReadyReasons: Pick<NotReadyReasons, "storage">;
  /** Why the API server does not have the current status; empty if it has. */
  readonly reportTrouble: string;
  /** Undefined: the configuration does not have the cluster sign the certificate. */
  readonly clientCertificate: CertificateState | undefined;
  readonly servingCertificate: CertificateState | undefined;
}

export function nodeWaits({ nowWallMs, runtime, qosCgroups, sourcesReady, cluster }: WaitInputs): readonly NodeWait[] {
  const waits = [
    wait("the container runtime", [...runtimeTroubles(runtime), ...networkTroubles(runtime)].join("; ")),
    wait("the cgroups of the node", qosCgroupTroubles(qosCgroups).join("; ")),
    wait("the pod sources", sourcesReady ? "" : "not every configured source has delivered its pods yet"),
    ...(cluster === undefined ? [] : clusterWaits(cluster, nowWallMs)),
  ];
  return waits.filter(({ why }) => why !== "");
}

const wait = (what: string, why: string): NodeWait => ({ what, why });

function clusterWaits(inputs: ClusterInputs, nowWallMs: number): readonly NodeWait[] {
  const { registration, ownNode, notReadyReasons, reportTrouble, clientCertificate, servingCertificate } = inputs;
  return [
    wait("the Node", nodeTrouble(registration, ownNode)),
    wait("the status of the Node", reportTrouble),
    wait("the CSINode", notReadyReasons.storage ?? ""),
    wait("a client certificate", certificateTrouble(clientCertificate, nowWallMs)),
    wait("a serving certificate", certificateTrouble(servingCertificate, nowWallMs)),
  ];
}

function nodeTrouble(registration: Registration, ownNode: OwnNode): string {
  if (registration.kind === "pending") {
    const { why = "" } = registration;
    return why === "" ? "the API server has not accepted its registration yet" : `its registration failed: ${why}`;
  }
  if (ownNode.kind === "unknown") return "the API server has not returned it yet";
  return ownNode.kind === "absent"
    ? "it does not exist on the API server; registerNode is false or it was deleted"
    : "";
}

function certificateTrouble(state: CertificateState | undefined, nowWallMs: number): string {
  if (state === undefined || validPair(state, nowWallMs) !== undefined) return "";
  return "there is no valid one; a CertificateSigningRequest may wait for approval: see `kubectl get csr`";
}

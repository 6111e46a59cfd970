/** The Lease with which a node reports, cheaply and often, that its agent is alive. */
import type { Lease } from "../../api/gen/coordination-v1.ts";
import { apiMicroTime } from "../../base/timestamp.ts";

export const LEASE_NAMESPACE = "kube-node-lease";

export interface LeaseOptions {
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
}

/** Renewed four times per lease duration, spread by up to 4 % so that nodes do not renew at the same time. */
export const renewEveryMs = ({ leaseDurationSeconds }: LeaseOptions, fraction: number): number =>
  leaseDurationSeconds * 250 * (1 + 0.04 * fraction);

/** The Node owns the Lease, so that deleting the Node deletes the Lease. */
export function newLease(options: LeaseOptions, nodeUid: string, nowWallMs: number): Lease {
  const { nodeName } = options;
  const base = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: nodeName, namespace: LEASE_NAMESPACE },
    spec: { holderIdentity: nodeName },
  };
  return renewedLease(base, options, nodeUid, nowWallMs);
}

/** Keeps all other fields. Adds an owner if there is none. */
export function renewedLease(base: Lease, options: LeaseOptions, nodeUid: string, nowWallMs: number): Lease {
  const owner = { apiVersion: "v1", kind: "Node", name: options.nodeName, uid: nodeUid };
  const owners = base.metadata?.ownerReferences ?? [];
  return {
    ...base,
    metadata: { ...base.metadata, ownerReferences: owners.length === 0 ? [owner] : owners },
    spec: {
      ...base.spec,
      leaseDurationSeconds: options.leaseDurationSeconds,
      renewTime: apiMicroTime(nowWallMs),
    },
  };
}

/**
 * The CSINode object, which tells schedulers the volume drivers of a node. A node without it is not ready: pods with
 * volumes would be scheduled to it too early.
 */
import type { Node } from "../../api/gen/core-v1.ts";
import type { CSINode } from "../../api/gen/storage-v1.ts";

const MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins";

/** Volume plugins that were once part of Kubernetes and are all served by CSI drivers today. */
const MIGRATED_PLUGINS = [
  "kubernetes.io/aws-ebs",
  "kubernetes.io/azure-disk",
  "kubernetes.io/azure-file",
  "kubernetes.io/cinder",
  "kubernetes.io/gce-pd",
  "kubernetes.io/portworx-volume",
  "kubernetes.io/vsphere-volume",
].join(",");

export const CSI_NODE_REASON = "CSINode is not yet initialized";

export const firstCsiNode = (node: Node): CSINode => {
  const { name = "", uid = "" } = node.metadata ?? {};
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    metadata: {
      name,
      annotations: { [MIGRATED]: MIGRATED_PLUGINS },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }],
    },
    spec: { drivers: [] },
  };
};

/** Returns the object with our annotation corrected; undefined: there is nothing to do. What drivers wrote stays. */
export function reconciledCsiNode(there: CSINode): CSINode | undefined {
  if (there.metadata?.annotations?.[MIGRATED] === MIGRATED_PLUGINS) return undefined;
  const annotations = { ...there.metadata?.annotations, [MIGRATED]: MIGRATED_PLUGINS };
  return { ...there, metadata: { ...there.metadata, annotations } };
}

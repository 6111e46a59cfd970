/** Subresources of the node to which access is granted separately. */
export type Subresource =
  | "proxy"
  | "stats"
  | "metrics"
  | "log"
  | "checkpoint"
  | "statusz"
  | "configz"
  | "pods"
  | "healthz";

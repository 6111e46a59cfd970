/** Parts of the node that access is given to one by one. */
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

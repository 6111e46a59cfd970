/** Whether the QoS cgroups above all pods exist. Without them no pod can be placed. */
export type QosCgroupState =
  /** Not tried yet. */
  | { readonly kind: "pending" }
  | { readonly kind: "failing"; readonly trouble: string }
  /** From the first success on, even if setting their values fails later. */
  | { readonly kind: "ready" };

export const qosCgroupTroubles = (state: QosCgroupState): readonly string[] =>
  state.kind === "failing" ? [`cgroups cannot be set up: ${state.trouble}`] : [];

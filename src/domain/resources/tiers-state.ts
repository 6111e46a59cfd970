/** Whether the groups above all pods are there. Without them no pod can be placed. */
export type TiersState =
  /** Nobody has tried yet. */
  | { readonly kind: "pending" }
  | { readonly kind: "failing"; readonly trouble: string }
  /** From the first success on, whatever becomes of their values. */
  | { readonly kind: "ready" };

export const tiersTroubles = (state: TiersState): readonly string[] =>
  state.kind === "failing" ? [`cgroups cannot be set up: ${state.trouble}`] : [];

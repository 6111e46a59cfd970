/** Who calls. */
export type Identity =
  /** May do anything. */
  | { readonly kind: "admin" }
  /** A kubelet: bound to its own Node and what its pods refer to. */
  | { readonly kind: "node"; readonly name: string };

export const ADMIN: Identity = { kind: "admin" };

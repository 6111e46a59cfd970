/** The client of a request. */
export type Identity =
  /** May do anything. */
  | { readonly kind: "admin" }
  /** A kubelet, limited to its own Node and to what its pods refer to. */
  | { readonly kind: "node"; readonly name: string };

export const ADMIN: Identity = { kind: "admin" };

/**
 * What happens to a pod that admission cannot decide yet, because it does not know the node's allocatable resources or
 * the RuntimeClass that the pod names.
 */
export type UndecidedPods =
  /** It waits as long as it takes; its status and an event say for what. */
  | { readonly kind: "wait" }
  /**
   * After this time it is decided with what is known. Nothing is published meanwhile: the Go kubelet decides at once,
   * but usually knows by then what Deckhand reads only once a pod needs it.
   */
  | { readonly kind: "decide"; readonly afterMs: number };

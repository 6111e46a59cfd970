/** The version of this package; a test holds it against package.json. */
export const DECKHAND_VERSION = "0.0.0";

/** The release of Kubernetes whose kubelet this one stands in for. */
export const KUBERNETES_VERSION = "v1.36.4";

/** The version of this package; a test holds it against package.json. */
export const DECKHAND_VERSION = "0.0.0";

/** The release of Kubernetes whose kubelet this one stands in for. */
export const KUBERNETES_VERSION = "v1.36.4";

/** The architecture that this executable is built for, by its name in Go. */
export const ARCHITECTURE = process.arch === "x64" ? "amd64" : process.arch;

/** How we name ourselves to the API server: the Go kubelet's form, with our name where it has its commit. */
export const USER_AGENT = `kubelet/${KUBERNETES_VERSION} (linux/${ARCHITECTURE}) kubernetes/deckhand`;

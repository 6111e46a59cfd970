/** The version of this package; a test compares it with package.json. */
export const DECKHAND_VERSION = "0.0.0";

/** The Kubernetes release whose kubelet Deckhand replaces. */
export const KUBERNETES_VERSION = "v1.36.4";

/** The architecture that this executable is built for, by its Go name. */
export const ARCHITECTURE = process.arch === "x64" ? "amd64" : process.arch;

/** The User-Agent for the API server: the Go kubelet's form, with our name in place of its commit. */
export const USER_AGENT = `kubelet/${KUBERNETES_VERSION} (linux/${ARCHITECTURE}) kubernetes/deckhand`;

/**
 * Size limits for text that a pod, an image or a registry chooses and that Deckhand stores, logs or sends to the API
 * server. docs/security.md lists every limit with the test that exceeds it.
 */

/** Maximum size of a container's `state.waiting.message`. */
export const WAITING_MESSAGE_BYTES_MAX = 4 * 1024;

/** Maximum size of an event's message: 10 KiB of probe output plus the text around it. */
export const EVENT_MESSAGE_BYTES_MAX = 12 * 1024;

/** Maximum size of the output or response of a probe or a lifecycle hook, as in the Go kubelet. */
export const OUTPUT_BYTES_MAX = 10 * 1024;

/** Maximum size of a cause kept in the journal for `explain`. */
export const EXPLANATION_BYTES_MAX = 1_000;
/** Conditions of the Node that the journal keeps; other clients may add some. */
export const NODE_CONDITIONS_MAX = 50;
/** A condition's type and reason in the journal. */
export const NODE_STATE_NAME_BYTES_MAX = 320;

/** Maximum size of a file of environment variables in a volume. */
export const ENV_FILE_BYTES_MAX = 1024 * 1024;

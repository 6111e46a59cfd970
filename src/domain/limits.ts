/**
 * Bounds on text that a pod, an image or a registry chooses, where Deckhand keeps it, logs it or sends it to the API server.
 * docs/security.md lists every bound with the test that exceeds it.
 */

/** Of a container's `state.waiting.message`. */
export const WAITING_MESSAGE_BYTES_MAX = 4 * 1024;

/** Of an event's message: the 10 KiB of a probe's output and the words around it. */
export const EVENT_MESSAGE_BYTES_MAX = 12 * 1024;

/** Of what a probe or a lifecycle hook prints or answers, as the Go kubelet. */
export const OUTPUT_BYTES_MAX = 10 * 1024;

/** Of what is kept of a cause in the journal, for `explain`. */
export const EXPLANATION_BYTES_MAX = 1_000;

/** Of a file of environment variables in a volume. */
export const ENV_FILE_BYTES_MAX = 1024 * 1024;

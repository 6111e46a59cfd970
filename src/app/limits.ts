/** Bounds on what one line of the log may hold. docs/security.md lists them with the tests that exceed them. */

/** Of one text in a log line. */
export const LOG_TEXT_BYTES_MAX = 8 * 1024;

/** Of a list or an object in a log line. */
export const LOG_ITEMS_MAX = 1_000;

/** Of all texts of a log line together. */
export const LOG_LINE_CHARS_MAX = 64 * 1024;

/** Of the agent's heap and the memory bound to it. The service's `MemoryHigh` lies above it. */
export const AGENT_MEMORY_BYTES_MAX = 768 * 1024 * 1024;

/** Of a file of the kubelet's configuration. */
export const CONFIGURATION_BYTES_MAX = 1024 * 1024;

/**
 * Bounds on log lines, configuration files and the agent's memory. docs/security.md lists them with the tests that
 * exceed them.
 */

/** One text in a log line. */
export const LOG_TEXT_BYTES_MAX = 8 * 1024;

/** A list or an object in a log line. */
export const LOG_ITEMS_MAX = 1_000;

/** All texts of a log line together. */
export const LOG_LINE_CHARS_MAX = 64 * 1024;

/** The agent's heap and the memory bound to it. The service's `MemoryHigh` lies above it. */
export const AGENT_MEMORY_BYTES_MAX = 768 * 1024 * 1024;

/** A file of the kubelet's configuration. */
export const CONFIGURATION_BYTES_MAX = 1024 * 1024;

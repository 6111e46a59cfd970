/**
 * Bounds on bytes that come from outside this process: from containers, from the runtime, from the kernel.
 * docs/security.md lists every bound with the test that exceeds it.
 */

/** Status lines and headers of an HTTP response to a probe or hook, 1xx included. The Go kubelet allows 10 MiB. */
export const RESPONSE_HEAD_BYTES_MAX = 64 * 1024;

/** The line before each chunk of a response. */
export const CHUNK_LINE_BYTES_MAX = 4 * 1024;

/** The message of an answer of a grpc.health.v1 server. */
export const HEALTH_MESSAGE_BYTES_MAX = 64 * 1024;

/** A message of the container runtime, as in the Go kubelet. */
export const CRI_MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

/** The text of a gRPC error. */
export const GRPC_ERROR_BYTES_MAX = 16 * 1024;

/** One text in an exported span. */
export const SPAN_TEXT_BYTES_MAX = 4 * 1024;

/** A D-Bus message. */
export const DBUS_MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

/** An answer of the API server to a single request, sent before there is a client. */
export const API_ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** One event of a watch: the API server keeps objects below 3 MiB. */
export const WATCH_LINE_BYTES_MAX = 64 * 1024 * 1024;

/** The output of a tool such as mount or mkfs. */
export const TOOL_OUTPUT_CHARS_MAX = 64 * 1024;

/** Redirects to a manifest. */
export const MANIFEST_REDIRECTS_MAX = 10;

/** A kernel file that `doctor` reads. */
export const KERNEL_FILE_BYTES_MAX = 1024 * 1024;

/** Links in a subPath, as in the kernel. */
export const SUBPATH_LINKS_MAX = 40;

/** What a credential plugin of a kubeconfig prints on its standard output. */
export const PLUGIN_OUTPUT_BYTES_MAX = 1024 * 1024;

/** The part of a credential plugin's standard error that an error shows: the last bytes. */
export const PLUGIN_ERROR_BYTES_MAX = 2 * 1024;

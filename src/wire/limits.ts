/**
 * Bounds on bytes that come from outside this process: from containers, from the runtime, from the kernel.
 * docs/security.md lists every bound with the test that exceeds it.
 */

/** Of the status lines and headers of an HTTP response to a probe or a hook, 1xx responses before it included. The Go kubelet takes 10 MiB. */
export const RESPONSE_HEAD_BYTES_MAX = 64 * 1024;

/** Of the line before each chunk of a response. */
export const CHUNK_LINE_BYTES_MAX = 4 * 1024;

/** Of the message that a grpc.health.v1 server answers with. */
export const HEALTH_MESSAGE_BYTES_MAX = 64 * 1024;

/** Of a message of the container runtime, as the Go kubelet. */
export const CRI_MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

/** Of the text of a gRPC error. */
export const GRPC_ERROR_BYTES_MAX = 16 * 1024;

/** Of one text in an exported span. */
export const SPAN_TEXT_BYTES_MAX = 4 * 1024;

/** Of a D-Bus message. */
export const DBUS_MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

/** Of an answer of the API server that is asked for once, before there is a client. */
export const API_ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** Of one event of a watch: the API server keeps objects below 3 MiB. */
export const WATCH_LINE_BYTES_MAX = 64 * 1024 * 1024;

/** Of what a tool such as mount or mkfs prints. */
export const TOOL_OUTPUT_CHARS_MAX = 64 * 1024;

/** Of redirects to a manifest. */
export const MANIFEST_REDIRECTS_MAX = 10;

/** Of a kernel file that `doctor` reads. */
export const KERNEL_FILE_BYTES_MAX = 1024 * 1024;

/** Of links in a subPath, as the kernel. */
export const SUBPATH_LINKS_MAX = 40;

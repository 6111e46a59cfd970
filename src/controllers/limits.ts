/**
 * Limits on files that others may have written and on what waits for the API server. docs/security.md lists every limit
 * with the test that exceeds it.
 */

/** Size of a file in a ConfigMap, Secret or downward API volume that a previous kubelet process wrote. */
export const VOLUME_FILE_BYTES_MAX = 16 * 1024 * 1024;

/** Size of a certificate or key file. */
export const CERTIFICATE_FILE_BYTES_MAX = 1024 * 1024;

/** Size of the key file of a certificate that is still requested. */
export const PENDING_KEY_BYTES_MAX = 64 * 1024;

/** Size of the node's hosts file, which is copied for pods on the host network. */
export const NODE_HOSTS_FILE_BYTES_MAX = 16 * 1024 * 1024;

/** Size of the file with a pod's user namespace ID range. */
export const USER_NAMESPACE_FILE_BYTES_MAX = 64 * 1024;

/** Size of the node's resolv.conf, as in the Go kubelet. */
export const RESOLVER_FILE_BYTES_MAX = 10 * 1024 * 1024;

/** Size of a journal segment: far above what compaction lets a segment reach. */
export const JOURNAL_SEGMENT_BYTES_MAX = 256 * 1024 * 1024;

/** Size of a journal record; the texts and lists of a larger record are cut. */
export const JOURNAL_RECORD_BYTES_MAX = 64 * 1024;

/** Length of each text in a record that is too large. */
export const JOURNAL_TEXT_CHARS_MAX = 4 * 1024;

/** Length of each list in a record that is too large. */
export const JOURNAL_LIST_ITEMS_MAX = 256;

/** Size of a file with the node's registry credentials, as in the Go kubelet. */
export const CREDENTIALS_FILE_BYTES_MAX = 10 * 1024 * 1024;

/** Size of a resource checkpoint file. */
export const CHECKPOINT_FILE_BYTES_MAX = 64 * 1024 * 1024;

/** Number of events that wait for the API server, as in the Go kubelet; further events are dropped and counted. */
export const EVENTS_QUEUED_MAX = 1000;

/** Size of a static pod manifest, in a file or at a URL, as in the Go kubelet. */
export const MANIFEST_BYTES_MAX = 10 * 1024 * 1024;

/** Size of the file that records which OOM kills were reported. */
export const OOM_FILE_BYTES_MAX = 4 * 1024;

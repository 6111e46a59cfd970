/**
 * Bounds on files that others may have written and on what waits for the API server. docs/security.md lists every bound with the test that
 * exceeds it.
 */

/** Of a file of a ConfigMap, Secret or downward API volume that an earlier agent wrote. */
export const VOLUME_FILE_BYTES_MAX = 16 * 1024 * 1024;

/** Of a file of certificates or keys. */
export const CERTIFICATE_FILE_BYTES_MAX = 1024 * 1024;

/** Of the file of a key whose certificate is still asked for. */
export const PENDING_KEY_BYTES_MAX = 64 * 1024;

/** Of the node's hosts file, which pods on its network get a copy of. */
export const NODE_HOSTS_FILE_BYTES_MAX = 16 * 1024 * 1024;

/** Of the file of a pod's range of user ids. */
export const USER_RANGES_FILE_BYTES_MAX = 64 * 1024;

/** Of the node's resolver file, as the Go kubelet. */
export const RESOLVER_FILE_BYTES_MAX = 10 * 1024 * 1024;

/** Of a file of the journal: far above what compaction lets it become. */
export const JOURNAL_SEGMENT_BYTES_MAX = 256 * 1024 * 1024;

/** Of a record of the journal; texts and lists of a longer one are cut. */
export const JOURNAL_RECORD_BYTES_MAX = 64 * 1024;

/** Of a text of a record that is too long. */
export const JOURNAL_TEXT_CHARS_MAX = 4 * 1024;

/** Of a list in a record that is too long. */
export const JOURNAL_LIST_ITEMS_MAX = 256;

/** Of a file of the node's registry credentials, as the Go kubelet. */
export const CREDENTIALS_FILE_BYTES_MAX = 10 * 1024 * 1024;

/** Of a checkpoint of resources. */
export const CHECKPOINT_FILE_BYTES_MAX = 64 * 1024 * 1024;

/** Events that wait for the API server, as the Go kubelet; more are dropped and counted. */
export const EVENTS_QUEUED_MAX = 1000;

/** Of a manifest of static pods, in a file or at a URL, as the Go kubelet. */
export const MANIFEST_BYTES_MAX = 10 * 1024 * 1024;

/** Of the file that says which OOM kills were reported. */
export const OOM_FILE_BYTES_MAX = 4 * 1024;

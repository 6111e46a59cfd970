/**
 * Bounds on what clients can make the node's API consume. docs/security.md lists them with the tests that exceed them.
 */
export const LIMITS = {
  /** Total size of a request's headers. */
  headerBytesMax: 16 * 1024,
  /** Number of a request's headers. */
  headersMax: 100,
  /** A request's path and query. */
  urlBytesMax: 8 * 1024,
  /** A request's body. */
  bodyBytesMax: 1024 * 1024,
  /** From the connection to the end of the TLS handshake. */
  handshakeMsMax: 10_000,
  /** From the beginning of a request to the end of its headers. */
  headersMsMax: 10_000,
  /** From the beginning of a request to the end of its body. */
  requestMsMax: 60_000,
  /** Time for what a client still sends after its response. */
  leftoverMsMax: 2_000,
  /** A response that ends by itself. */
  answerMsMax: 60_000,
  /** A response that the client ends: followed logs, streams. */
  longAnswerMsMax: 4 * 3_600_000,
  /** Between two requests on a connection. */
  idleMsMax: 90_000,
  /** Connections of clients that are not yet authenticated and authorized. */
  unauthenticatedMax: 512,
  /** The same, from one address. */
  unauthenticatedPerPeerMax: 64,
  /** Time until such a client must be authorized. */
  unauthenticatedMsMax: 15_000,
  /** Requests that wait on one connection for earlier ones. */
  pipelinedMax: 4,
} as const;

/** The health port does not authenticate: anyone on the machine may query it. */
export const HEALTHZ_LIMITS = {
  unauthenticatedMax: 64,
  unauthenticatedPerPeerMax: 64,
  unauthenticatedMsMax: 15_000,
} as const;

/** A posted form. */
export const FORM_BYTES_MAX = 64 * 1024;

/** Signatures checked for one client, which chooses the certificates: the checks block everything else. */
export const SIGNATURES_CHECKED_MAX = 32;

/** Certificates that a client may present. */
export const CERTIFICATES_PRESENTED_MAX = 8;

/** Requests of /explain within this time share one reading of the journal. */
export const EXPLANATIONS_SHARED_MS = 3_000;
/** The name of a namespace or a pod; longer ones exist nowhere. */
export const OBJECT_NAME_CHARS_MAX = 253;

/** How long requests of /pods share one list. */
export const PODS_SHARED_MS = 100;

/** Concurrent exec, attach and port-forward sessions of a pod. */
export const STREAMS_PER_POD_MAX = 16;

/** The status with which the runtime ends a command. */
export const STREAM_STATUS_BYTES_MAX = 1024 * 1024;

/** Container checkpoints on a node. */
export const CONTAINER_CHECKPOINTS_MAX = 100;

/** Total size of all container checkpoints on a node. */
export const CONTAINER_CHECKPOINTS_BYTES_MAX = 10 * 1024 ** 3;

/** An incomplete terminal size. */
export const TERMINAL_SIZE_HELD_BYTES_MAX = 1_024;

/** A message with a terminal size. */
export const TERMINAL_SIZE_BYTES_MAX = 4 * 1024;

/** A WebSocket message. */
export const WEBSOCKET_MESSAGE_BYTES_MAX = 1024 * 1024;

/** A SPDY control frame. */
export const SPDY_CONTROL_BYTES_MAX = 64 * 1024;

/** The runtime's response to a stream that it rejects. */
export const RUNTIME_REFUSAL_BYTES_MAX = 64 * 1024;

/** A request that sets a flag. */
export const FLAG_BODY_BYTES_MAX = 1024;

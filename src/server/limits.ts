/**
 * How much of the node's API anybody can take. docs/security.md lists these bounds with the tests that exceed them.
 */
export const LIMITS = {
  /** Of all headers of a request. */
  headerBytesMax: 16 * 1024,
  /** Of headers of a request. */
  headersMax: 100,
  /** Of a request's path and query. */
  urlBytesMax: 8 * 1024,
  /** Of a request's body. */
  bodyBytesMax: 1024 * 1024,
  /** From a connection to the end of its TLS handshake. */
  handshakeMsMax: 10_000,
  /** From a request's beginning to the end of its headers. */
  headersMsMax: 10_000,
  /** From a request's beginning to the end of its body. */
  requestMsMax: 60_000,
  /** Of what a client sends after it was answered. */
  leftoverMsMax: 2_000,
  /** Of an answer that ends by itself. */
  answerMsMax: 60_000,
  /** Of an answer that ends when its reader has enough: logs that are followed, streams. */
  longAnswerMsMax: 4 * 3_600_000,
  /** Between two requests on a connection. */
  idleMsMax: 90_000,
  /** Connections of clients that are not known to have any right. */
  strangersMax: 512,
  /** The same, from one address. */
  strangersPerPeerMax: 64,
  /** Until such a client has shown that it has a right. */
  strangerMsMax: 15_000,
  /** Requests that wait on one connection for those before them. */
  pipelinedMax: 4,
} as const;

/** The health port has no clients with rights: everybody on the machine may ask. */
export const HEALTHZ_LIMITS = { strangersMax: 64, strangersPerPeerMax: 64, strangerMsMax: 15_000 } as const;

/** Of a posted form. */
export const FORM_BYTES_MAX = 64 * 1024;

/** Of signatures that are checked for one client, who chooses the certificates: the check blocks everything else. */
export const SIGNATURES_CHECKED_MAX = 32;

/** Of certificates that a client may present. */
export const CERTIFICATES_PRESENTED_MAX = 8;

/** For which requests of /pods share one list. */
export const PODS_SHARED_MS = 100;

/** Of exec, attach and port-forward sessions of a pod at once. */
export const STREAMS_PER_POD_MAX = 16;

/** Of the status that the runtime ends a command with. */
export const STREAM_STATUS_BYTES_MAX = 1024 * 1024;

/** Of container checkpoints on a node. */
export const CONTAINER_CHECKPOINTS_MAX = 100;

/** Of all container checkpoints on a node. */
export const CONTAINER_CHECKPOINTS_BYTES_MAX = 10 * 1024 ** 3;

/** Of a terminal's size that has not come whole. */
export const TERMINAL_SIZE_HELD_BYTES_MAX = 1_024;

/** Of a message with a terminal's size. */
export const TERMINAL_SIZE_BYTES_MAX = 4 * 1024;

/** Of a WebSocket message. */
export const WEBSOCKET_MESSAGE_BYTES_MAX = 1024 * 1024;

/** Of a SPDY control frame. */
export const SPDY_CONTROL_BYTES_MAX = 64 * 1024;

/** Of the runtime's answer to a stream that it refuses. */
export const RUNTIME_REFUSAL_BYTES_MAX = 64 * 1024;

/** Of a request that sets a flag. */
export const FLAG_BODY_BYTES_MAX = 1024;

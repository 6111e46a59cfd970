/** How much of us anybody can take. */
export const LIMITS = {
  headerBytesMax: 16_384,
  headersMax: 100,
  urlBytesMax: 8192,
  bodyBytesMax: 1_048_576,
  handshakeMsMax: 10_000,
  headersMsMax: 10_000,
  requestMsMax: 60_000,
  /** Of what a client sends after it was answered. */
  leftoverMsMax: 2000,
  /** Of those routes that do not run until their asker has enough. */
  answerMsMax: 60_000,
  /** Of those that do, as long as they speak HTTP. */
  longAnswerMsMax: 4 * 3_600_000,
  idleMsMax: 90_000,
  /** How often connections are held against the three above. */
  checkEveryMs: 1000,
  /** That the kernel holds for us until we look; it takes no more than net.core.somaxconn. */
  backlogMax: 4096,
  /** Before they have said who they are. */
  strangersMax: 512,
  strangersPerPeerMax: 64,
  /** By then they have said who they are, or were let in as anybody. */
  strangerMsMax: 15_000,
  /** Requests that wait on one connection for those before them. */
  pipelinedMax: 4,
} as const;

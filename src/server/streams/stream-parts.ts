/** The parts and the common flow of the streaming verbs: find the target, call the runtime, carry bytes. */
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../ports/clock.ts";
import type { RuntimeStreams } from "../../ports/runtime.ts";
import { HttpError, type Route, type RouteRequest } from "../route.ts";
import type { KnownPods } from "./find-container.ts";
import type { StreamSession, StreamSessions, StreamVerb } from "./sessions.ts";
import { isUpgradeRequest } from "./websocket/handshake.ts";

export interface StreamParts {
  readonly known: KnownPods;
  readonly runtime: RuntimeStreams;
  readonly clock: Clock;
  readonly sessions: StreamSessions;
  /** Whether WebSocket protocols that runtimes do not speak are translated here. */
  readonly webSockets: boolean;
}

/** The target of a request that was found. */
export interface StreamTarget {
  readonly podUid: string;
  /** Requests the URL from the runtime's streaming server. */
  readonly url: (signal: AbortSignal) => Promise<string>;
}

/** A connection that is being upgraded. */
export interface Leaving {
  readonly asked: RouteRequest;
  readonly socket: Duplex;
  readonly session: StreamSession;
}

export interface StreamVerbRoute<T extends StreamTarget> {
  readonly verb: StreamVerb;
  readonly path: string;
  /** Rejects a missing target before the runtime is called. */
  readonly find: (asked: RouteRequest) => T;
  readonly carry: (target: T, leaving: Leaving) => Promise<void>;
}

const UPGRADE_REQUIRED = "Upgrade request required\n";
/**
 * The kernel detects half-open connections: it probes after this much silence and gives up after ten seconds without an
 * answer.
 */
const KEEP_ALIVE_MS = 15_000;

/** Two routes: with and without the pod's UID in the path. */
export function streamRoutes<T extends StreamTarget>(
  parts: StreamParts,
  { verb, path, find, carry }: StreamVerbRoute<T>,
): readonly Route[] {
  return [path, path.replace("{pod}", "{pod}/{uid}")].map((one) => ({
    path: one,
    methods: ["GET", "POST"],
    subresources: ["proxy"],
    switch: "debugging",
    readOnlyPort: false,
    longRunning: true,
    answer: async (asked) => {
      find(asked);
      throw new HttpError(500, UPGRADE_REQUIRED);
    },
    upgrade: async (asked, socket, head) => {
      // Nobody handles errors before the stream is carried; a broken socket is detected then.
      socket.on("error", () => {});
      const target = find(asked);
      if (!isUpgradeRequest(asked.request)) throw new HttpError(500, UPGRADE_REQUIRED);
      own(socket);
      if (head.length > 0) socket.unshift(head);
      const why = () => (socket.closed ? "client" : "shutdown");
      using session = parts.sessions.open(verb, target.podUid, { signal: asked.signal, why });
      await carry(target, { asked, socket, session });
    },
  }));
}

/** The session enforces the idle timeout, and without Nagle's algorithm keystrokes are sent at once. */
function own(socket: Duplex): void {
  if (!(socket instanceof Socket)) return;
  socket.setTimeout(0);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
}

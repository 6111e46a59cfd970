/** What the verbs that carry streams are made of, and the shape they share: whom it is about first, then the runtime, then bytes. */
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../ports/clock.ts";
import type { RuntimeStreams } from "../../ports/runtime.ts";
import { type Asked, Refusal, type Route } from "../route.ts";
import type { KnownPods } from "./find-container.ts";
import type { StreamSession, StreamSessions, StreamVerb } from "./sessions.ts";
import { isUpgradeRequest } from "./websocket/handshake.ts";

export interface StreamParts {
  readonly known: KnownPods;
  readonly runtime: RuntimeStreams;
  readonly clock: Clock;
  readonly sessions: StreamSessions;
  /** Whether WebSockets of a kind that runtimes do not speak are translated here. */
  readonly webSockets: boolean;
}

/** What is asked for, found to be there. */
export interface StreamTarget {
  readonly podUid: string;
  /** Where the runtime serves it. */
  readonly url: (signal: AbortSignal) => Promise<string>;
}

/** A connection that is to leave HTTP behind. */
export interface Leaving {
  readonly asked: Asked;
  readonly socket: Duplex;
  readonly session: StreamSession;
}

export interface StreamVerbRoute<T extends StreamTarget> {
  readonly verb: StreamVerb;
  readonly path: string;
  /** Refuses what is not there, before the runtime is asked. */
  readonly find: (asked: Asked) => T;
  readonly carry: (target: T, leaving: Leaving) => Promise<void>;
}

const UPGRADE_REQUIRED = "Upgrade request required\n";
/** Half-open connections are found by the kernel: after this much silence it asks, and after ten seconds without an answer it gives up. */
const KEEP_ALIVE_MS = 15_000;

/** One with the pod's UID in the path and one without. */
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
      throw new Refusal(500, UPGRADE_REQUIRED);
    },
    upgrade: async (asked, socket, head) => {
      // Until it is carried nobody looks at it; that it broke is found then.
      socket.on("error", () => {});
      const target = find(asked);
      if (!isUpgradeRequest(asked.request)) throw new Refusal(500, UPGRADE_REQUIRED);
      own(socket);
      if (head.length > 0) socket.unshift(head);
      const why = () => (socket.closed ? "client" : "shutdown");
      using session = parts.sessions.open(verb, target.podUid, { signal: asked.signal, why });
      await carry(target, { asked, socket, session });
    },
  }));
}

/** Its silence is for the session to judge, and a terminal's keystrokes do not wait for each other. */
function own(socket: Duplex): void {
  if (!(socket instanceof Socket)) return;
  socket.setTimeout(0);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
}

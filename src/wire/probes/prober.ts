/** The Prober port on Node's sockets. */
import { DeadlineError, withDeadline } from "../../concurrency/deadline.ts";
import { sleep } from "../../concurrency/sleep.ts";
import type { HttpGet } from "../../domain/probes/http-get.ts";
import type { Clock } from "../../ports/clock.ts";
import { redirectOf } from "../../ports/http-redirect.ts";
import {
  type GrpcHealth,
  type HttpAnswer,
  ProbeError,
  type Prober,
  type ProbeStep,
  type ProbeTarget,
} from "../../ports/prober.ts";
import { connectTo, dial, dialError, hangUp } from "./dialing.ts";
import { check, closeSession, openSession } from "./grpc-probe.ts";
import { sendGet } from "./http-probe.ts";
import type { AnswerHead } from "./http-response.ts";
import { type Limit, limited } from "./limited.ts";

/** gRPC's wait between two attempts to connect. */
const RECONNECT_MS = 1_000;
const RECONNECT_GROWTH = 1.6;

export function createProber(clock: Clock): Prober {
  return {
    http: (get, { limitMs, bodyBytesMax }, signal) => follow(get, bodyBytesMax, { clock, limitMs }, signal),
    tcp: (target, limitMs, signal) => connection(target, { clock, limitMs }, signal),
    grpc: async (target, request, limitMs, signal) => {
      const progress: Progress = { step: "connect" };
      try {
        return await withDeadline(clock, limitMs, signal, (until) =>
          checkHealth(clock, target, request, until, progress),
        );
      } catch (error) {
        if (!(error instanceof DeadlineError) || signal.aborted) throw error;
        throw new ProbeError(progress.step, "late", `no answer within ${limitMs} ms`);
      }
    },
  };
}

async function follow(
  first: HttpGet,
  bodyBytesMax: number,
  { clock, limitMs }: Limit,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const untilMs = clock.monotonicMs() + limitMs;
  let [get, leftMs] = [first, limitMs];
  for (let requests = 1; ; requests += 1) {
    const redirect = (head: AnswerHead) => redirectOf(first, get, head, requests);
    const wanted = (head: AnswerHead) => (redirect(head).kind === "none" ? bodyBytesMax : 0);
    const answer = await sendGet(get, wanted, { clock, limitMs: leftMs }, signal);
    const next = redirect(answer);
    if (next.kind === "none") return { status: answer.status, body: answer.body };
    if (next.kind === "refused") throw new ProbeError("answer", "theirs", next.detail, next.url);
    [get, leftMs] = [next.get, untilMs - clock.monotonicMs()];
  }
}

/** Resolves when the target has accepted the connection. */
const connection = (target: ProbeTarget, limit: Limit, signal: AbortSignal): Promise<void> =>
  limited(limit, signal, ({ answer, fail }) => {
    const socket = connectTo(target);
    socket.on("error", (error) => fail(dialError(error, target, "")));
    socket.on("connect", () => answer());
    return { step: () => "connect", url: () => "", close: () => hangUp(socket) };
  });

/** How far a gRPC probe has come, for the error if it is too late. */
interface Progress {
  step: ProbeStep;
}

async function checkHealth(
  clock: Clock,
  target: ProbeTarget,
  request: { readonly service: string; readonly userAgent: string },
  signal: AbortSignal,
  progress: Progress,
): Promise<GrpcHealth> {
  for (let waitMs = RECONNECT_MS; ; waitMs *= RECONNECT_GROWTH) {
    try {
      return await checkOnce(target, request, signal, progress);
    } catch (error) {
      if (!(error instanceof ProbeError) || error.fault === "ours") throw error;
      await sleep(clock, waitMs, signal);
    }
  }
}

async function checkOnce(
  target: ProbeTarget,
  request: { readonly service: string; readonly userAgent: string },
  signal: AbortSignal,
  progress: Progress,
): Promise<GrpcHealth> {
  const socket = await dial(target, signal);
  let session: Awaited<ReturnType<typeof openSession>> | undefined;
  try {
    session = await openSession(socket, signal);
    progress.step = "answer";
    return await check(session, target, request, signal);
  } finally {
    closeSession(session, socket);
  }
}

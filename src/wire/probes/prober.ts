/** The Prober port on Node's sockets. */
import { DeadlineError, withDeadline } from "../../concurrency/deadline.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { type HttpGet, urlOf } from "../../domain/probes/http-get.ts";
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
import { dial, hangUp } from "./dialing.ts";
import { check, closeSession, openSession } from "./grpc-question.ts";
import { ask } from "./http-question.ts";
import type { AnswerHead } from "./http-response.ts";

/** As gRPC waits between two tries to connect. */
const RECONNECT_MS = 1_000;
const RECONNECT_GROWTH = 1.6;

/** How far a question has come, for whoever finds it late. */
interface Progress {
  step: ProbeStep;
  url: string;
}

export function createProber(clock: Clock): Prober {
  /** A deadline becomes the error of the port. */
  const within = async <T>(
    limitMs: number,
    signal: AbortSignal,
    run: (limited: AbortSignal, progress: Progress) => Promise<T>,
  ): Promise<T> => {
    const progress: Progress = { step: "connect", url: "" };
    try {
      return await withDeadline(clock, limitMs, signal, (limited) => run(limited, progress));
    } catch (error) {
      if (!(error instanceof DeadlineError) || signal.aborted) throw error;
      throw new ProbeError(progress.step, "late", `no answer within ${limitMs} ms`, progress.url);
    }
  };
  return {
    http: (get, { limitMs, bodyBytesMax }, signal) =>
      within(limitMs, signal, (limited, progress) => follow(get, bodyBytesMax, limited, progress)),
    tcp: (target, limitMs, signal) =>
      within(limitMs, signal, async (limited) => {
        hangUp(await dial(target, limited));
      }),
    grpc: (target, asked, limitMs, signal) =>
      within(limitMs, signal, (limited, progress) => askHealth(clock, target, asked, limited, progress)),
  };
}

async function follow(
  first: HttpGet,
  bodyBytesMax: number,
  signal: AbortSignal,
  progress: Progress,
): Promise<HttpAnswer> {
  let get = first;
  for (let questions = 1; ; questions += 1) {
    progress.url = urlOf(get);
    const asked = get;
    const redirect = (head: AnswerHead) => redirectOf(first, asked, head, questions);
    const { body, ...head } = await ask(
      asked,
      {
        onStep: (step) => {
          progress.step = step;
        },
        bodyBytesMax: (known) => (redirect(known).kind === "none" ? bodyBytesMax : 0),
      },
      signal,
    );
    const next = redirect(head);
    if (next.kind === "none") return { status: head.status, body };
    if (next.kind === "refused") throw new ProbeError("answer", "theirs", next.detail, next.url);
    get = next.get;
  }
}

async function askHealth(
  clock: Clock,
  target: ProbeTarget,
  asked: { readonly service: string; readonly userAgent: string },
  signal: AbortSignal,
  progress: Progress,
): Promise<GrpcHealth> {
  for (let waitMs = RECONNECT_MS; ; waitMs *= RECONNECT_GROWTH) {
    try {
      return await askOnce(target, asked, signal, progress);
    } catch (error) {
      if (!(error instanceof ProbeError) || error.fault === "ours") throw error;
      await sleep(clock, waitMs, signal);
    }
  }
}

async function askOnce(
  target: ProbeTarget,
  asked: { readonly service: string; readonly userAgent: string },
  signal: AbortSignal,
  progress: Progress,
): Promise<GrpcHealth> {
  const socket = await dial(target, signal);
  let session: Awaited<ReturnType<typeof openSession>> | undefined;
  try {
    session = await openSession(socket, signal);
    progress.step = "answer";
    return await check(session, target, asked, signal);
  } finally {
    closeSession(session, socket);
  }
}

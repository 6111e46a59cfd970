/** Runs postStart and preStop hooks. The caller's signal bounds their duration. */

import type { ContainerPort, HTTPGetAction, LifecycleHandler, Pod } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { goQuote } from "../../base/go-text.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { type EventSubject, podSubject } from "../../domain/events/recorded-event.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import { OUTPUT_BYTES_MAX } from "../../domain/limits.ts";
import { containerNamed } from "../../domain/pod/containers.ts";
import {
  execHookFailure,
  exitedWith,
  fallbackText,
  type HookPlace,
  httpHookFailure,
  invalidHandler,
  markedPorts,
  withoutTls,
} from "../../domain/pod/hooks.ts";
import { type HttpGet, httpGetOf } from "../../domain/probes/http-get.ts";
import { PLAIN_ANSWER, ProbeError } from "../../ports/prober.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { nameInJournal, type PodState } from "./pod-state.ts";
import type { PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";

export interface HookRun extends HookPlace {
  readonly id: string;
  readonly handler: LifecycleHandler;
  /** The subject of the hook's events. */
  readonly subject: EventSubject;
  /** The container's ports: a hook may refer to one by name. */
  readonly ports: readonly ContainerPort[];
  /** The pod's IP; undefined if the sandbox has none. */
  readonly ip: string | undefined;
  readonly userAgent: string;
}

/** Adds what the hook needs from the pod's spec and view, or from the container's annotations. */
export function hookRun(
  hook: Pick<HookRun, "pod" | "container" | "id" | "handler">,
  {
    state: { view },
    pod,
    settings,
  }: {
    readonly state: Pick<PodState, "view">;
    readonly pod: Pod | undefined;
    readonly settings: Pick<PodWorkerSettings, "hookUserAgent">;
  },
): HookRun {
  const marked = view?.containers.find(({ id }) => id === hook.id)?.annotations;
  const spec = containerNamed(pod?.spec, hook.container)?.container;
  return {
    ...hook,
    subject: pod === undefined ? { kind: "Pod", ...hook.pod } : podSubject(pod),
    ports: spec === undefined ? markedPorts(marked) : (spec.ports ?? []),
    ip: view?.sandboxes[0]?.ips[0],
    userAgent: settings.hookUserAgent,
  };
}

type HookPorts = Pick<PodWorkerPorts, "runtime" | "clock" | "prober" | "events" | "podMetrics">;

/** Hooks have no timeout: only the grace period, if any, cancels them. Use the longest timer. */
const LIMIT_MS = 2 ** 31 - 1;

/** Returns why the hook failed, undefined if it succeeded. Rejects with the signal's reason. */
export async function runHook(run: HookRun, ports: HookPorts, signal: AbortSignal): Promise<string | undefined> {
  const { handler } = run;
  if (handler.exec !== undefined) return runCommand(run, handler.exec.command ?? [], ports, signal);
  if (handler.httpGet !== undefined) return runGet(run, handler.httpGet, ports, signal);
  if (handler.sleep !== undefined) return runSleep(handler.sleep.seconds, ports, signal);
  return invalidHandler(handler);
}

async function runSleep(seconds: number, { clock, podMetrics }: HookPorts, signal: AbortSignal): Promise<undefined> {
  try {
    await sleep(clock, seconds * 1000, signal);
  } catch (error) {
    podMetrics?.sleepsCutShort.increment();
    throw error;
  }
}

/** Any response counts as success, whatever its status code. */
async function runGet(run: HookRun, action: HTTPGetAction, ports: HookPorts, signal: AbortSignal) {
  const failed = (error: string) => httpHookFailure(run, action.path ?? "", error);
  if (!action.host && run.ip === undefined) return failed("failed to find networking container");
  const made = httpGetOf(action, { ports: run.ports }, run.ip ?? "", run.userAgent);
  if (made.kind === "refused") return failed(made.message);
  const answer = await get(made.get, ports, signal);
  if (answer === undefined || made.get.scheme === "http" || answer.detail !== PLAIN_ANSWER) {
    return answer === undefined ? undefined : failed(getText(answer));
  }
  const plain = withoutTls(made.get);
  const second = await get(plain, ports, signal);
  // Report the error of the TLS request.
  if (second !== undefined) return failed(getText(answer));
  ports.podMetrics?.plainHooks.increment();
  ports.events.emit(run.subject, "Warning", "LifecycleHTTPFallback", fallbackText(plain));
  return undefined;
}

const getText = ({ url, detail }: ProbeError): string => `Get ${goQuote(url)}: ${detail}`;

/** Returns the failure. */
async function get(what: HttpGet, { prober }: HookPorts, signal: AbortSignal): Promise<ProbeError | undefined> {
  try {
    await prober.http(what, { limitMs: LIMIT_MS, bodyBytesMax: OUTPUT_BYTES_MAX }, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProbeError) return error.step === "body" ? undefined : error;
    throw error;
  }
}

/** Journaled before anything relies on it. */
export const noteHook = (
  step: Pick<Extract<JournalRecord, { kind: "hook" }>, "container" | "containerId" | "hook">,
  state: PodState,
  { journal, clock }: Pick<PodWorkerPorts, "journal" | "clock">,
): Promise<void> =>
  journal.append({
    kind: "hook",
    uid: state.uid,
    pod: nameInJournal(state, undefined),
    wallMs: clock.wallMs(),
    ...step,
  });

/** The command's output may be secret: it appears in the pod's status, as in the Go kubelet, but never in an event. */
async function runCommand(
  run: HookRun,
  command: readonly string[],
  { runtime }: HookPorts,
  signal: AbortSignal,
): Promise<string | undefined> {
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes.subarray(0, OUTPUT_BYTES_MAX));
  try {
    const { exitCode, stdout, stderr } = await runtime.execSync(run.id, command, 0, signal);
    if (exitCode === 0) return undefined;
    const error = exitedWith(command, exitCode, text(stderr));
    const output = Buffer.concat([stdout.subarray(0, OUTPUT_BYTES_MAX), stderr.subarray(0, OUTPUT_BYTES_MAX)]);
    return execHookFailure(run, command, error, text(output));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RuntimeError)) throw error;
    return execHookFailure(run, command, errorText(error), "");
  }
}

/**
 * Explains in one sentence why a pod is in its state. What blocks the pod now comes first, with the cause in its
 * original wording. Of several causes, the sentence names the one that the others depend on.
 */
import { pullDelayMs } from "../images/pull-policy.ts";
import { describeCause } from "../pod/pod-lifecycle.ts";
import { msOfNs, shortTime } from "./format-time.ts";
import { type ContainerHistory, type Exit, isOfImage, type PodHistory, type Trouble } from "./pod-history.ts";

/** An exit within this time explains more than the fact that the container runs. */
const LATELY_MS = 15 * 60_000;

export function sentenceOf(history: PodHistory, nowWallMs: number): string {
  const text = overOf(history, nowWallMs) ?? presentOf(history, nowWallMs);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** For a pod that was rejected, that terminates or that has terminated. */
function overOf(history: PodHistory, now: number): string | undefined {
  const { admission, ending, terminal, finishedWallMs } = history;
  if (admission.kind === "rejected") {
    const { reason, message, wallMs } = admission;
    return `This node rejected the pod at ${shortTime(wallMs, now)}: ${reason}: ${message}`;
  }
  if (finishedWallMs !== undefined) {
    const gone = `nothing of it is left on this node since ${shortTime(finishedWallMs, now)}`;
    return `${endedBecause(history, now)}; ${gone}`;
  }
  if (terminal !== undefined) return `${endedBecause(history, now)}${leftOvers(history, now)}`;
  if (ending === undefined) return undefined;
  const grace = ending.graceSeconds === 1 ? "1 second" : `${ending.graceSeconds} seconds`;
  const request = `${endCause(history)}, at ${shortTime(ending.sinceWallMs, now)} with a grace period of ${grace}`;
  const held = endWaitsFor(history, now);
  return held === undefined ? `The pod is terminating: ${request}` : `${held}; ${request}`;
}

function endedBecause(history: PodHistory, now: number): string {
  const { ending, terminal, containers } = history;
  const at = terminal?.wallMs ?? ending?.sinceWallMs;
  const when = at === undefined ? "" : ` at ${shortTime(at, now)}`;
  if (ending !== undefined && ending.why.kind !== "completed")
    return `The pod was terminated${when}: ${endCause(history)}`;
  if (terminal?.phase === "Succeeded") return `The pod completed${when}: Succeeded`;
  const failed = [...containers.values()].find(({ lastExit }) => lastExit !== undefined && lastExit.exitCode !== 0);
  const last = failed?.lastExit;
  if (failed === undefined || last === undefined)
    return `The pod terminated${when}${terminal === undefined ? "" : `: ${terminal.phase}`}`;
  return `The pod failed${when}: ${named(failed, history)} ${exitText(failed, last)}`;
}

function endCause({ ending, preemptedFor }: PodHistory): string {
  const cause = ending === undefined ? "the cause is not known" : describeCause(ending.why).replace(/\.$/, "");
  return preemptedFor === undefined ? cause : `${cause} (${preemptedFor})`;
}

/** What a terminating pod waits for. */
function endWaitsFor(history: PodHistory, now: number): string | undefined {
  const { endHeldUp, containers } = history;
  if (endHeldUp !== undefined) return `The pod cannot be terminated: ${stepText(endHeldUp, now)}`;
  const hooked = [...containers.values()].find(({ preStopSinceWallMs }) => preStopSinceWallMs !== undefined);
  if (hooked === undefined) return undefined;
  return `The pod is terminating and ${named(hooked, history)} waits for its preStop hook, which runs since ${shortTime(hooked.preStopSinceWallMs ?? 0, now)}`;
}

const stepText = ({ text, sinceWallMs }: NonNullable<PodHistory["endHeldUp"]>, now: number): string =>
  `${causeText({ why: text })} (since ${shortTime(sinceWallMs, now)})`;

const leftOvers = ({ endHeldUp }: PodHistory, now: number): string =>
  endHeldUp === undefined ? "" : `, and cannot be cleaned up: ${stepText(endHeldUp, now)}`;

function presentOf(history: PodHistory, now: number): string {
  const { admission, runtimeTrouble, trouble } = history;
  const containers = [...history.containers.values()];
  const isRunning = containers.some(({ startedWallMs }) => startedWallMs !== undefined);
  const runtime =
    runtimeTrouble === undefined
      ? undefined
      : `the container runtime of this node is not well: ${runtimeTrouble.why} (since ${shortTime(runtimeTrouble.sinceWallMs, now)})`;
  if (admission.kind === "deferred") {
    const held = `The pod waits for admission since ${shortTime(admission.sinceWallMs, now)}: ${admission.why}`;
    return runtime === undefined ? held : `${held}; ${runtime}`;
  }
  if (!isRunning && runtime !== undefined) {
    return `The pod cannot be started: ${runtime}${trouble === undefined ? "" : `; ${causeText(trouble)}`}`;
  }
  if (!isRunning && trouble !== undefined) return podText(trouble, now);
  const held = heldUp(containers, history, now);
  if (held !== undefined) return held;
  const besides = runtime ?? (trouble === undefined ? undefined : lowered(podText(trouble, now)));
  const whole = isRunning ? runningText(containers, history, now) : setUpText(history, now);
  return besides === undefined ? whole : `${whole}, but ${besides}`;
}

const setUpText = ({ sandboxSinceWallMs }: PodHistory, now: number): string =>
  sandboxSinceWallMs === undefined
    ? "The pod was admitted and is being set up"
    : `The pod's sandbox is being created since ${shortTime(sandboxSinceWallMs, now)}`;

const POD_WORDS: Readonly<Record<string, string>> = {
  FailedCreatePodSandBox: "The pod's sandbox cannot be created",
  FailedMount: "The pod's volumes cannot be mounted",
  FailedMapVolume: "The pod's volumes cannot be mapped",
  FailedAttachVolume: "The pod's volumes cannot be attached",
  NetworkNotReady: "The pod waits for the network of this node's pods",
  FailedSync: "The container runtime cannot be queried about the pod",
  FailedCreatePodContainer: "The pod's cgroup cannot be created",
  VolumePermissionChangeInProgress: "The pod waits for the ownership of its volumes' files to be set",
};

/** Prefixes that other components add to a cause; the timeline shows the whole text. */
const WRAPPINGS =
  /^Error: |Failed to create pod sandbox: |rpc error: code = \w+ desc = |failed to (?:pull and unpack image|resolve reference) "[^"]*": /g;

const causeText = ({ why }: { readonly why: string }): string => why.replaceAll(WRAPPINGS, "");

const podText = (trouble: Trouble, now: number): string =>
  `${POD_WORDS[trouble.reason] ?? "The pod cannot be set up"}: ${causeText(trouble)}${repeated(trouble, now)}`;

/** The first container that is blocked. Containers that do not run come before those that run with problems. */
function heldUp(containers: readonly ContainerHistory[], history: PodHistory, now: number): string | undefined {
  const worst = (words: typeof notRunning) => {
    for (const container of containers) {
      const text = words(container, history, now);
      if (text !== undefined) return `${capital(named(container, history))} ${text}`;
    }
    return undefined;
  };
  return worst(notRunning) ?? worst(runningBadly);
}

function notRunning(container: ContainerHistory, history: PodHistory, now: number): string | undefined {
  const { trouble, lastExit, startedWallMs, pullingSinceWallMs, postStartSinceWallMs, role, delayMs } = container;
  if (postStartSinceWallMs !== undefined && startedWallMs !== undefined)
    return `waits for its postStart hook, which runs since ${shortTime(postStartSinceWallMs, now)}`;
  if (trouble !== undefined)
    return troubleText(trouble, now) + (startedWallMs === undefined ? nextStart(container, now) : "");
  if (startedWallMs !== undefined) return undefined;
  if (pullingSinceWallMs !== undefined)
    return `waits for its image, which is being pulled since ${shortTime(pullingSinceWallMs, now)}`;
  if (lastExit === undefined || role === "ephemeral") return undefined;
  if (role === "init" && lastExit.exitCode === 0) return undefined;
  const isLast = delayMs === undefined && history.terminal === undefined && lastExit.restartCount === 0;
  const often = lastExit.restartCount === 0 ? "" : `, ${lastExit.restartCount + 1} times so far`;
  return `${isLast ? "has ended" : "keeps ending"}: it ${exitText(container, lastExit)}${often}${nextStart(container, now)}`;
}

function troubleText(trouble: Trouble, now: number): string {
  const { reason, why } = trouble;
  const often = repeated(trouble, now);
  const pull = /^Failed to pull image "(?<image>.*?)": (?<error>.*)$/s.exec(why)?.groups;
  if (pull !== undefined) {
    const { image = "", error = "" } = pull;
    const cause = causeText({ why: error });
    const short = cause.startsWith(`${image}: `) ? cause.slice(image.length + 2) : cause;
    return `cannot start: its image ${image} cannot be pulled: ${short}${tried(trouble, now)}`;
  }
  if (isOfImage(trouble)) return `cannot start: ${why}${often}`;
  if (reason === "FailedPostStartHook") return `was stopped because its postStart hook failed${often}`;
  return `cannot start: ${causeText(trouble)}${often}`;
}

function nextStart({ lastExit, delayMs }: ContainerHistory, now: number): string {
  if (lastExit === undefined || delayMs === undefined) return "";
  const dueWallMs = msOfNs(lastExit.finishedWallNs) + delayMs;
  return dueWallMs > now ? `; it is started again at ${shortTime(dueWallMs, now)}` : "";
}

function runningBadly(container: ContainerHistory, history: PodHistory, now: number): string | undefined {
  const { startedWallMs, unhealthy, lastExit, role } = container;
  if (startedWallMs === undefined) return undefined;
  const since = `runs since ${shortTime(startedWallMs, now)}`;
  const last = lastExit === undefined ? undefined : `its last run ${exitText(container, lastExit)}`;
  for (const probe of ["startup", "liveness", "readiness"] as const) {
    const reported = unhealthy.get(probe);
    if (reported === undefined || !isBad(probe, reported, container, now)) continue;
    const so = { startup: "has not started up", liveness: "is not well", readiness: "is not ready" }[probe];
    const after = last === undefined || probe === "readiness" ? "" : `; ${last}`;
    return `${since} but ${so}: ${reported.why}${repeated(reported, now)}${after}`;
  }
  if (role === "init") return `${since} and has not ended yet${waitsFor(history)}`;
  const isLate = lastExit !== undefined && now - msOfNs(lastExit.finishedWallNs) < LATELY_MS;
  return isLate ? `${since}, again: ${last}${countOf(lastExit)}` : undefined;
}

/**
 * A failed startup or readiness probe counts until the probe succeeds in the current run. A failed liveness probe
 * counts while its verdict is a failure, or while its last report in the current run is recent.
 */
function isBad(
  probe: "startup" | "liveness" | "readiness",
  { lastWallMs }: Trouble,
  { verdicts, startedWallMs = 0 }: ContainerHistory,
  now: number,
): boolean {
  if (probe !== "liveness") return verdicts?.[probe] !== "success";
  return verdicts?.liveness === "failure" || (lastWallMs >= startedWallMs && now - lastWallMs < LATELY_MS);
}

const waitsFor = ({ containers }: PodHistory): string =>
  [...containers.values()].some(({ role }) => role === "regular") ? "; the others wait for it" : "";

const countOf = ({ restartCount }: Exit): string => (restartCount === 0 ? "" : ` (${restartCount + 1} times so far)`);

function exitText({ lastStoppedFor: probe, unhealthy }: ContainerHistory, { reason, exitCode }: Exit): string {
  const code = `exit code ${exitCode}`;
  const said = probe === undefined ? undefined : unhealthy.get(probe)?.why;
  if (probe !== undefined)
    return `was stopped because its ${probe} probe failed${said === undefined ? "" : said.replace(/^\w+ probe failed/, "")} (${code})`;
  if (reason === "OOMKilled") return `was killed for lack of memory (OOMKilled, ${code})`;
  return `ended with ${code}${reason === "" ? "" : ` (${reason})`}`;
}

function runningText(containers: readonly ContainerHistory[], history: PodHistory, now: number): string {
  const serving = containers.filter(({ startedWallMs, role }) => startedWallMs !== undefined && role !== "ephemeral");
  const since = Math.max(...serving.map(({ startedWallMs }) => startedWallMs ?? 0));
  const waiting = containers.filter(
    ({ startedWallMs, role, lastExit }) => startedWallMs === undefined && role !== "init" && lastExit === undefined,
  );
  const names = waiting.map((container) => named(container, history)).join(", ");
  if (names !== "") return `The pod is being started: ${names} ${waiting.length === 1 ? "comes" : "come"} next`;
  return `The pod runs since ${shortTime(since, now)}, with ${serving.length === 1 ? "its container" : `its ${serving.length} containers`} started`;
}

/** `the container "app"`, `the init container "setup" (1 of 2)`. */
function named({ name, role }: ContainerHistory, { containers }: PodHistory): string {
  const kind = { init: "init container", sidecar: "sidecar", regular: "container", ephemeral: "ephemeral container" }[
    role
  ];
  const before = [...containers.values()].filter((each) => each.role === "init" || each.role === "sidecar");
  const place = before.findIndex((each) => each.name === name);
  const count = role === "init" && place >= 0 && before.length > 1 ? ` (${place + 1} of ${before.length})` : "";
  return `the ${kind} "${name}"${count}`;
}

const repeated = ({ times, sinceWallMs }: Trouble, now: number): string =>
  times === 1
    ? ` (at ${shortTime(sinceWallMs, now)})`
    : ` (at least ${times} times since ${shortTime(sinceWallMs, now)})`;

/** For a pull. The time of the next attempt is known while the count is exact. */
function tried({ times, lastWallMs }: Trouble, now: number): string {
  const dueWallMs = lastWallMs + pullDelayMs(times);
  const often = times === 1 ? "once" : `${times} times`;
  return dueWallMs > now
    ? ` (tried ${often}, next try at ${shortTime(dueWallMs, now)})`
    : ` (tried at least ${often}, last seen at ${shortTime(lastWallMs, now)})`;
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

const lowered = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);

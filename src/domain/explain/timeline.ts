/**
 * The timeline of a pod, one line per event: when, what, and how long it took where that is known. Repeated events
 * become one line with the count and the last time. A kind of record without a text here is shown by its name.
 */
import { assertNever } from "../../base/assert.ts";
import { parseGoDuration } from "../../base/duration.ts";
import type { Decision } from "../journal/decisions.ts";
import type { JournalRecord } from "../journal/records.ts";
import { terminationStepText } from "../pod/ending.ts";
import { causeFromText, describeCause } from "../pod/pod-lifecycle.ts";
import { type Entry, partOf } from "./entry.ts";
import { evictionText } from "./eviction-text.ts";
import { msOfNs } from "./format-time.ts";

export interface TimelineLine {
  readonly wallMs: number;
  readonly what: string;
  readonly durationMs: number | undefined;
  readonly times: number;
  readonly lastWallMs: number;
}

/** What a record contributes. `begins` and `ends` name an interval, whose duration is shown at its end. */
interface Step {
  /** Undefined: the record only begins an interval. */
  readonly what: string | undefined;
  readonly begins?: string;
  readonly ends?: string;
  /** The step is skipped if the interval had not begun. */
  readonly onlyAtEnd?: true;
  readonly durationMs?: number;
  /** How often the event had occurred by then, where its writer counts. */
  readonly times?: number;
}

export function timelineOf(entries: readonly Entry[]): readonly TimelineLine[] {
  const begun = new Map<string, number>();
  const lines = new Map<string, TimelineLine>();
  for (const entry of entries) {
    const { what, begins, ends, onlyAtEnd, durationMs, times } = stepOf(entry);
    const since = ends === undefined ? undefined : begun.get(ends);
    if (ends !== undefined) begun.delete(ends);
    if (begins !== undefined && !begun.has(begins)) begun.set(begins, entry.wallMs);
    if (what === undefined || (onlyAtEnd && since === undefined)) continue;
    const before = lines.get(what);
    const took = durationMs ?? (since === undefined ? undefined : Math.max(0, entry.wallMs - since));
    lines.set(what, {
      what,
      wallMs: before?.wallMs ?? entry.wallMs,
      lastWallMs: entry.wallMs,
      durationMs: before?.durationMs ?? took,
      times: Math.max(times ?? 0, (before?.times ?? 0) + 1),
    });
  }
  return [...lines.values()];
}

type WordsOf<K> = (record: Extract<JournalRecord, { kind: K }>) => Step;

/** The text of each kind of record. */
const WORDS: { readonly [K in JournalRecord["kind"]]?: WordsOf<K> } = {
  admitted: () => ({ what: "admitted by this node" }),
  rejected: ({ reason, message }) => ({ what: `rejected by this node: ${reason}: ${message}` }),
  terminating: ({ why, graceSeconds }) => ({
    what: `termination requested, with a grace period of ${graceSeconds} s: ${describeCause(causeFromText(why))}`,
    begins: "end",
  }),
  exited: ({ container, exitCode, reason, startedWallNs, finishedWallNs }) => ({
    what: `${container}: ended with exit code ${exitCode}${reason === "" ? "" : ` (${reason})`}`,
    ...ranFor(msOfNs(startedWallNs), msOfNs(finishedWallNs)),
  }),
  hook: ({ container, hook }) => hookStep(container, hook),
  restarting: () => ({ what: undefined }),
  // Other records show the progress of a resize.
  allocated: () => ({ what: undefined }),
  resized: () => ({ what: undefined }),
  restartForResize: ({ container }) => ({ what: `${container}: to be restarted with other resources` }),
  ending: ({ step, state, error }) => ({
    what: state === "failed" ? `termination blocked: ${terminationStepText(step, error)}` : undefined,
  }),
  restartingAll: () => ({ what: "all containers are restarted, because one of them requested it" }),
  terminal: ({ phase }) => ({ what: `all containers have terminated: ${phase}`, ends: "end", begins: "removal" }),
  finished: () => ({ what: "nothing of the pod is left on this node", ends: "removal" }),
  probed: ({ container, startup, liveness, readiness }) => ({
    what: `${container}: probes say: ${verdictsText({ startup, liveness, readiness })}`,
  }),
  mounting: ({ volume }) => ({ what: `volume "${volume}" being mounted` }),
  staticPod: ({ source }) => ({ what: `known as a static pod from ${source}` }),
  decision: (record) => decisionStep(record),
  told: (record) => reportedStep(record),
};

function stepOf(entry: Entry): Step {
  if (entry.kind === "unknown") return { what: `${entry.name} (a record that this version does not know)` };
  const words = WORDS[entry.kind] as WordsOf<typeof entry.kind> | undefined;
  return words === undefined ? { what: entry.kind } : (words as (record: JournalRecord) => Step)(entry);
}

const ranFor = (startedMs: number, finishedMs: number) =>
  startedMs > 0 && finishedMs >= startedMs ? { durationMs: finishedMs - startedMs } : {};

function hookStep(container: string, hook: "postStartDue" | "postStartDone" | "preStopDone"): Step {
  if (hook === "postStartDue")
    return { what: `${container}: has a postStart hook to be run`, begins: `postStart ${container}` };
  if (hook === "postStartDone") return { what: `${container}: postStart hook done`, ends: `postStart ${container}` };
  return { what: `${container}: preStop hook done`, ends: `preStop ${container}` };
}

/** Only probes that have a verdict. */
function verdictsText(verdicts: Readonly<Record<string, string>>): string {
  const said = Object.entries(verdicts).filter(([, verdict]) => verdict !== "unknown");
  return said.length === 0 ? "nothing yet" : said.map(([probe, verdict]) => `${probe} ${verdict}`).join(", ");
}

function decisionStep({ decision }: Extract<JournalRecord, { kind: "decision" }>): Step {
  switch (decision.kind) {
    case "defer":
      return { what: `waits for admission: ${decision.why}` };
    case "deferResize":
      return { what: `deferResize: ${decision.why}` };
    case "preempt":
      return { what: `to be preempted: ${decision.why}` };
    case "evict":
      return { what: `to be evicted: ${decision.why.trim()}${evictionText(decision)}` };
    case "startAgent":
      return { what: "(the node agent was started)" };
    case "runPreStop": {
      const { container } = decision;
      return { what: `${container}: preStop hook begun`, begins: `preStop ${container}` };
    }
    case "admit":
      return { what: undefined };
    case "act":
      return actionStep(decision);
    default:
      return assertNever(decision);
  }
}

function actionStep({ action, why, container = "" }: Extract<Decision, { kind: "act" }>): Step {
  switch (action) {
    case "createSandbox":
      return { what: "sandbox requested", begins: "sandbox" };
    case "startContainer":
    case "startCreated":
      return { what: "sandbox created", ends: "sandbox", onlyAtEnd: true, begins: `start ${container}` };
    // The events of each container say the same, in more detail.
    case "makeRoom":
    case "postStart":
    case "stopContainers":
    case "stopSandboxes":
    case "removeUnstarted":
      return { what: undefined };
    case "resize":
    case "removeForRestart":
      return { what: `${action}: ${why}` };
    default:
      return assertNever(action);
  }
}

function reportedStep({ uid, on, reason, why, times }: Extract<JournalRecord, { kind: "told" }>): Step {
  const name = partOf(on)?.name;
  if (uid === "") return { what: why === "" ? `(${on}: ${reason})` : `(${on}: ${reason}: ${why})` };
  switch (reason) {
    case "Pulling":
    case "Killing":
      return { what: `${name}: ${inWords(reason, why)}` };
    case "Pulled":
      return { what: `${name}: ${inWords(reason, why)}`, ...durationIn(why) };
    case "Started":
      return { what: `${name}: started`, ends: `start ${name}` };
    case "Resumed":
      return { what: "goes on" };
    default:
      return { what: `${partText(on)}${reason}: ${why.replace(/^pod: "[^"]*"\. /, "")}`, times };
  }
}

/** A container by its name; anything else is a volume. */
function partText(on: string): string {
  const name = partOf(on)?.name;
  if (name !== undefined) return `${name}: `;
  return on === "" ? "" : `volume "${on}": `;
}

/** Shortens the Go kubelet's messages where they are known. */
function inWords(reason: string, why: string): string {
  const image = /^(?:Pulling|Successfully pulled|Container) image "(?<image>[^"]*)"/.exec(why)?.groups?.["image"];
  if (image !== undefined) {
    const present = why.startsWith("Container") ? `was on the node: ${image}` : `pulled: ${image}`;
    return `image ${reason === "Pulling" ? `to be pulled: ${image}` : present}`;
  }
  if (reason !== "Killing") return why;
  if (why.startsWith("Stopping container ")) return "termination requested";
  return `termination requested: ${why.replace(/^(?:Init c|C)ontainer \S+ /, "")}`;
}

/** Of `in 1.2s (1.5s including waiting)`, the latter duration. */
function durationIn(why: string): { readonly durationMs?: number } {
  const text = /\((?<text>[\dhms.µ]+) including waiting\)/.exec(why)?.groups?.["text"];
  if (text === undefined) return {};
  try {
    return { durationMs: Number(parseGoDuration(text) / 1_000_000n) };
  } catch {
    return {};
  }
}

/**
 * What happened to one pod, in order: the statuses that its agent published, the events that it reported, and the calls
 * that changed something in the runtime. Two agents have the same sequence when they show the same steps in the same
 * order.
 *
 * - A status that only one of them shows is allowed between two that both show: one agent may publish twice what the
 *   other publishes once. Before the first and after the last shared status no such status is allowed, and shared
 *   statuses must be in the same order. Two statuses that alternate repeatedly count once: how often a pull is tried
 *   before its Secret exists is chance.
 * - Containers are stopped in parallel: StopContainer calls that overlap, and consecutive Killing events, have no
 *   order.
 * - Garbage collection removes dead containers and sandboxes, in parallel with the pod's own steps and after the pod is
 *   gone: those calls are left out.
 * - Equal consecutive calls count once, since how often a failed call is retried is chance. Deckhand starts and stops
 *   each container and each sandbox successfully at most once: `sequenceOf` asserts it.
 * - A call that its caller cancelled is left out: whether one is in progress when the pod is deleted is chance.
 * - A pod that was watched for only a part of its life may show a few more events and calls at the end.
 */
import assert from "node:assert/strict";
import type { Event, Pod } from "../../src/api/gen/core-v1.ts";
import type { CreateContainerRequest } from "../../src/wire/cri/gen/api_pb.js";
import type { CriCall } from "../cluster/cri-proxy.ts";
import { podUidOfCall } from "../support/cri-log.ts";
import type { Side } from "./sides.ts";

export interface PodSequence {
  /** Whether the pod was watched until it was gone. */
  readonly isWhole: boolean;
  readonly statuses: readonly unknown[];
  /** "<type> <reason> <field> <message>", each at the place of its first report. */
  readonly events: readonly string[];
  /** "StartContainer main 0": the method, the container and its attempt; of a call that failed, its gRPC code. */
  readonly calls: readonly string[];
}

const CHANGING: ReadonlySet<string> = new Set([
  "RunPodSandbox",
  "StopPodSandbox",
  "CreateContainer",
  "StartContainer",
  "StopContainer",
  "UpdateContainerResources",
  "PullImage",
]);

const ONCE: ReadonlySet<string> = new Set(["StartContainer", "StopContainer", "StopPodSandbox"]);

/** The steps without consecutive repetitions. */
export function distinctSteps<T>(
  steps: readonly T[],
  textOf: (step: T) => string = (step) => JSON.stringify(step),
): readonly T[] {
  return steps.filter((step, index) => index === 0 || textOf(step) !== textOf(steps[index - 1] as T));
}

/** An event's name ends with the time of its first report. */
const reportedNs = ({ metadata }: Event): bigint => BigInt(`0x${metadata.name?.split(".").at(-1) ?? "0"}`);

const eventsInOrder = (events: readonly Event[]): readonly Event[] =>
  events.toSorted((a, b) => (reportedNs(a) < reportedNs(b) ? -1 : 1));

/** The calls of this pod that changed something, in the order in which they began. */
export function changingCalls(calls: readonly CriCall[], pod: Pod): readonly string[] {
  const isBeside = (before: readonly OwnCall[], { text, startedWallMs }: OwnCall) =>
    text.startsWith(STOP) && before.every((one) => one.text.startsWith(STOP) && one.endedWallMs >= startedWallMs);
  return inGroups(callsOf(calls, pod), isBeside).flatMap((group) => group.map(({ text }) => text).toSorted());
}

/** Successful calls that start or stop what an earlier successful call started or stopped. */
export function repeatedCalls(calls: readonly CriCall[], pod: Pod): readonly string[] {
  const once = callsOf(calls, pod).filter(({ method, isFailed }) => ONCE.has(method) && !isFailed);
  return once.flatMap(({ method, id, text }, index) =>
    once.slice(0, index).some((one) => one.method === method && one.id === id) ? [text] : [],
  );
}

interface OwnCall {
  readonly method: string;
  readonly id: string;
  readonly isFailed: boolean;
  readonly text: string;
  readonly startedWallMs: number;
  readonly endedWallMs: number;
}

function callsOf(calls: readonly CriCall[], pod: Pod): readonly OwnCall[] {
  const sandboxes = new Set<string>();
  const containers = new Map<string, string>();
  const own: OwnCall[] = [];
  for (const call of calls) {
    const { method, id, code, answer, request, startedWallMs, endedWallMs } = call;
    const isOwn = podUidOfCall(call) === pod.metadata?.uid;
    const { podSandboxId, containerId } = Object(answer) as {
      readonly podSandboxId?: string;
      readonly containerId?: string;
    };
    const subject = method === "CreateContainer" ? subjectOf(request as CreateContainerRequest) : containers.get(id);
    if (isOwn && podSandboxId !== undefined) sandboxes.add(podSandboxId);
    if (isOwn && containerId !== undefined && subject !== undefined) containers.set(containerId, subject);
    if (!CHANGING.has(method) || !(isOwn || sandboxes.has(id) || containers.has(id)) || code === CANCELLED) continue;
    const isFailed = code !== undefined && code !== 0;
    const failure = isFailed ? [`code ${code}`] : [];
    const text = [method, ...(subject === undefined ? [] : [subject]), ...failure].join(" ");
    own.push({ method, id, isFailed, text, startedWallMs, endedWallMs: endedWallMs ?? Number.POSITIVE_INFINITY });
  }
  return own;
}

/** The gRPC code of a cancelled call. */
const CANCELLED = 1;
const STOP = "StopContainer ";
const KILLING = "Normal Killing ";

/** Groups consecutive steps that belong together. */
function inGroups<T>(
  steps: readonly T[],
  belongs: (group: readonly T[], step: T) => boolean,
): readonly (readonly T[])[] {
  const groups: T[][] = [];
  for (const step of steps) {
    const last = groups.at(-1);
    if (last !== undefined && belongs(last, step)) last.push(step);
    else groups.push([step]);
  }
  return groups;
}

const subjectOf = ({ config }: CreateContainerRequest): string =>
  `${config?.metadata?.name ?? "?"} ${config?.metadata?.attempt ?? "?"}`;

/** The steps, with repetitions of two alternating steps removed. */
export function withoutLoops(steps: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const step of steps) {
    kept.push(step);
    const [a, b, c, d] = kept.slice(-4);
    if (kept.length >= 4 && a === c && b === d) kept.length -= 2;
  }
  return kept;
}

/** How the second sequence of steps differs from the first; empty where the rules above allow the difference. */
export function differingSteps(theirs: readonly unknown[], ours: readonly unknown[]): readonly string[] {
  const [go, deckhand] = [theirs, ours].map((steps) =>
    withoutLoops(distinctSteps(steps.map((step) => JSON.stringify(step)))),
  );
  if (go === undefined || deckhand === undefined) return [];
  const [inGo, inDeckhand] = [new Set(go), new Set(deckhand)];
  const shared = (steps: readonly string[], others: ReadonlySet<string>) =>
    distinctSteps(
      steps.filter((step) => others.has(step)),
      (step) => step,
    );
  const outside = (steps: readonly string[], others: ReadonlySet<string>, who: string) =>
    [
      ["first", steps.at(0)],
      ["last", steps.at(-1)],
    ].flatMap(([place, step]) => (step === undefined || others.has(step) ? [] : [`only ${who}, ${place}: ${step}`]));
  const orders = [shared(go, inDeckhand), shared(deckhand, inGo)];
  if (go.length === 0 || deckhand.length === 0)
    return go.length === deckhand.length ? [] : ["one of them shows nothing"];
  return [
    ...outside(go, inDeckhand, "Go"),
    ...outside(deckhand, inGo, "Deckhand"),
    ...(orders[0]?.join("\n") === orders[1]?.join("\n")
      ? []
      : [`order\n    Go       ${orders[0]?.join(" → ")}\n    Deckhand ${orders[1]?.join(" → ")}`]),
  ];
}

interface Lived {
  readonly pod: Pod;
  readonly isWhole: boolean;
  /** Every version that a watch showed, oldest first. */
  readonly versions: readonly Pod[];
  readonly events: readonly Event[];
  readonly calls: readonly CriCall[];
  readonly side: Side;
  readonly neutralStatus: (pod: Pod) => unknown;
  readonly neutralText: (text: string) => string;
}

export function sequenceOf(lived: Lived): PodSequence {
  const { pod, isWhole, versions, events, calls, side, neutralStatus, neutralText } = lived;
  if (side === "deckhand") assert.deepEqual(repeatedCalls(calls, pod), []);
  const reported = eventsInOrder(events).map(({ type, reason, message, involvedObject }) =>
    neutralText(`${type} ${reason} ${involvedObject.fieldPath ?? "-"} ${message}`),
  );
  const areKilling = (before: readonly string[], text: string) =>
    [...before, text].every((one) => one.startsWith(KILLING));
  return {
    isWhole,
    statuses: distinctSteps(versions.map(neutralStatus)),
    events: inGroups([...new Set(reported)], areKilling).flatMap((group) => group.toSorted()),
    calls: distinctSteps(changingCalls(calls, pod)),
  };
}

/** A question that ends with this word is answered by a sequence. */
export const SEQUENCE = "sequence" as const;

/** How many more events or calls one agent may show, for a pod that was not watched until it was gone. */
const MORE_AT_THE_END_MAX = 2;

export function differingSequences(theirs: unknown, ours: unknown): readonly string[] {
  const [go, deckhand] = [theirs as PodSequence, ours as PodSequence];
  const isWhole = go.isWhole && deckhand.isWhole;
  const others = (["events", "calls"] as const).flatMap((list) =>
    differingLists(go[list], deckhand[list], isWhole).map((difference) => `.${list} ${difference}`),
  );
  return [...differingSteps(go.statuses, deckhand.statuses).map((difference) => `.statuses ${difference}`), ...others];
}

export function differingLists(
  go: readonly string[],
  deckhand: readonly string[],
  isWhole: boolean,
): readonly string[] {
  const shared = Math.min(go.length, deckhand.length);
  const first = go.findIndex((step, index) => index >= shared || step !== deckhand[index]);
  const at = first < 0 ? shared : first;
  const more = Math.max(go.length, deckhand.length) - at;
  if (more === 0 || (!isWhole && at === shared && more <= MORE_AT_THE_END_MAX)) return [];
  return [
    `from step ${at + 1}\n    Go       ${go.slice(at).join(" → ")}\n    Deckhand ${deckhand.slice(at).join(" → ")}`,
  ];
}

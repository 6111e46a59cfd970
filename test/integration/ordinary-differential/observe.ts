/** Creates the pods of a case, observes everything about them, and deletes them. */
import assert from "node:assert/strict";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import type { Recording } from "../../golden/recording.ts";
import { matchLimitMs } from "../../golden/selected-cases.ts";
import { type PodSequence, SEQUENCE, sequenceOf } from "../../golden/sequence.ts";
import { comparisonMode, SIDES, type Side } from "../../golden/sides.ts";
import { hasEndedWhole, podOn } from "../../support/cluster-pods.ts";
import { reportedByBoth } from "../../support/normal-form.ts";
import { type Case, isTriedAgain, podName, type World } from "./case.ts";
import { logText, parseViews, viewsEnded } from "./container-view.ts";
import { type Difference, LOOKS, questionOf, rewriteOfDeckhand, rewriteOfGo } from "./differences.ts";
import { neutral, neutralText } from "./neutral.ts";
import { leftOf, nodeView } from "./node-view.ts";
import { type Requests, requestsOf } from "./requests.ts";

/** One pod's observation, in neutral form. */
export interface Observation {
  /** By moment: the pod's status when the state was first observed; for a lasting state, the newest status. */
  readonly statuses: Readonly<Record<string, unknown>>;
  /** "<type> <reason> <field> <message>", with the number of reports; 0 where the number is chance. */
  readonly events: Readonly<Record<string, number>>;
  /** By container: every view that the container printed. */
  readonly views: Readonly<Record<string, unknown>>;
  /** The pod's directory and mounts at that moment. */
  readonly node: unknown;
  readonly requests: Requests;
  /** What was still on the node after the pod was gone from the API. */
  readonly left: readonly string[];
  /** The pod's life from its creation until it was gone. */
  readonly sequence: PodSequence;
}

export type Seen =
  | { readonly kind: "seen"; readonly seen: Observation }
  | { readonly kind: "never"; readonly why: string };
/** One value for each agent that runs. */
export type OfSides<T> = ReadonlyMap<Side, T>;

const LIMIT_MS = 100_000;
const LIVE_LIMIT_MS = 240_000;
/** How long to wait until all observations equal the recorded ones. */
const MATCH_LIMIT_MS = 20_000;
/** While recording, an observation that has not changed for this long is final. */
const QUIET_MS = 8_000;
const QUIET_LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 400;
const GONE_LIMIT_MS = 120_000;

/** Observes the pods of a case while they exist. */
export async function see(world: World, one: Case, recording: Recording): Promise<OfSides<Attempt<Look>>> {
  const begun = await onSides((side) => attempt(() => begin(world, one, side)));
  if (one.meanwhile !== undefined) await one.meanwhile(world);
  return onSides(async (side) => {
    const first = begun.get(side);
    const reached = first?.kind === "never" ? first : await attempt(() => reach(world, one, side));
    if (reached.kind === "never") return reached;
    return attempt(() =>
      settled({ one, side, recording, take: (part) => look(world, one, side, reached.value, part) }),
    );
  });
}

/** Deletes the pods, and observes what is left of them. */
export function removePod(world: World, one: Case, seen: OfSides<Attempt<Look>>): Promise<OfSides<Seen>> {
  return onSides(async (side): Promise<Seen> => {
    const left = await leave(world, one, side);
    const half = seen.get(side) ?? assert.fail(`${one.name} was not observed under ${side}`);
    if (half.kind === "never") return half;
    return { kind: "seen", seen: { ...half.value, left, sequence: await sequence(world, one, side) } };
  });
}

async function onSides<T>(work: (side: Side) => Promise<T>): Promise<OfSides<T>> {
  return new Map(await Promise.all(SIDES.map(async (side) => [side, await work(side)] as const)));
}

/**
 * The answer that is compared: without the values that the case leaves out. Adds to `needed` the intended differences
 * that change the answer.
 */
export function answerOf(
  one: Case,
  part: keyof Look,
  seen: Partial<Look>,
  side: Side,
  needed = new Set<Difference>(),
): unknown {
  const { leavesOut } = one;
  const whole: object = seen[part] ?? {};
  const kept = Object.entries(whole).filter(([key]) => leavesOut?.part !== part || !leavesOut.keys.test(key));
  const answer = Object.fromEntries(kept);
  return side === "go" ? answer : rewriteOfDeckhand(questionOf(one.name, part), answer, needed);
}

/** The same for the pod's sequence. */
export function sequenceAnswer(one: Case, sequence: PodSequence, side: Side, needed: Set<Difference>): unknown {
  const { leavesOut } = one;
  const isKept = (event: string) => leavesOut?.part !== "events" || !leavesOut.keys.test(event);
  const events = sequence.events.filter(isKept);
  const answer = { ...sequence, events: one.eventsWithoutOrder === undefined ? events : events.toSorted() };
  return side === "go" ? answer : rewriteOfDeckhand(questionOf(one.name, SEQUENCE), answer, needed);
}

export type Attempt<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "never"; readonly why: string };
type Moments = Readonly<Record<string, Pod>>;
export type Look = Omit<Observation, "left" | "sequence">;

async function attempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { kind: "done", value: await work() };
  } catch (error) {
    const { message, cause } = error as Error;
    return { kind: "never", why: cause instanceof Error ? `${message}: ${cause.message}` : message };
  }
}

/** Creates the pod. If the case changes the pod later, waits for the first printed view. */
async function begin(world: World, one: Case, side: Side): Promise<void> {
  const place = world.place(side);
  const spec = typeof one.spec === "function" ? one.spec(place) : one.spec;
  const made = podOn(place.node, podName(one, side), { restartPolicy: "Never", ...spec });
  const pod = { ...made, metadata: { ...made.metadata, ...one.metadata } };
  if (one.create === undefined) await world.pods.create(pod);
  else await one.create(world, pod, side);
  if (one.meanwhile !== undefined) await viewed(world, one, side, 1);
}

async function reach(world: World, one: Case, side: Side): Promise<Moments> {
  const { pods } = world;
  const name = podName(one, side);
  const { ending } = one;
  const limitMs = one.meanwhile === undefined ? LIMIT_MS : LIVE_LIMIT_MS;
  switch (ending.kind) {
    case "ends": {
      const pod = await pods.first(name, "ended", hasEndedWhole, limitMs);
      assert.equal(pod.status?.phase, ending.phase, `${name}: ${JSON.stringify(pod.status)}`);
      return { ended: pod };
    }
    case "runs": {
      const pod = await pods.running(name, limitMs);
      await viewed(world, one, side, 1);
      return { runs: pod };
    }
    case "waits": {
      const moments: Record<string, Pod> = {};
      for (const reason of ending.reasons) {
        // The pod's other containers, if any, run by then.
        const isSo = ({ status }: Pod) =>
          status?.containerStatuses?.every(({ name: each, state }) =>
            each === "main" ? state?.waiting?.reason === reason : state?.running !== undefined,
          ) === true;
        moments[reason] = await pods.first(name, `waited for ${reason}`, isSo, limitMs);
      }
      return moments;
    }
    case "stays": {
      await pause(ending.forMs[side]);
      await pods.first(name, "was reported", ({ status }) => status?.containerStatuses !== undefined);
      const pod = pods.latest(name) ?? assert.fail(`${name} is gone`);
      assert.equal(pod.status?.phase, "Pending", `${name}: ${JSON.stringify(pod.status)}`);
      return { stays: pod };
    }
    case "told": {
      const isReported = async () => (await pods.eventsOf(name)).some(({ message }) => message?.includes(ending.text));
      try {
        await waitUntil(`an event of ${name} with ${ending.text}`, limitMs, isReported, 500);
      } catch (error) {
        const texts = (await pods.eventsOf(name)).map(({ reason, message }) => `${reason} ${message}`);
        throw new Error(`${name}: no event with ${ending.text}: ${texts.join(" | ")}`, { cause: error });
      }
      // Events and statuses arrive independently.
      return {
        // The recordings of the Go kubelet have this name.
        told: await pods.first(name, "was reported", ({ status }) => status?.containerStatuses !== undefined),
      };
    }
  }
}

async function viewed(world: World, one: Case, side: Side, times: number): Promise<void> {
  const name = podName(one, side);
  const pod = await world.pods.first(
    name,
    "started",
    ({ status }) => status?.phase === "Running" || status?.phase === "Succeeded",
    LIMIT_MS,
  );
  const containers = pod.spec?.containers ?? [];
  const isViewed = async () => {
    const logs = await Promise.all(containers.map(async (each) => logText(world.node(side), pod, each.name)));
    return logs.every((log) => viewsEnded(log) >= times);
  };
  await waitUntil(`what ${name} sees`, 30_000, isViewed, 200);
}

interface Settling {
  readonly one: Case;
  readonly side: Side;
  readonly recording: Recording;
  readonly take: <Part extends keyof Look>(part: Part) => Promise<Look[Part]>;
}

/** Returns the observation once it equals the recording, or the current one when the time is up. */
async function settled(settling: Settling): Promise<Look> {
  if (comparisonMode === "record") return quiet(settling);
  const endMs = performance.now() + matchLimitMs(MATCH_LIMIT_MS);
  for (;;) {
    const seen: Partial<Look> = {};
    let isRecorded = true;
    // Parts that are cheap to observe come first; the others are observed only once these equal the recording.
    for (const part of LOOKS) {
      Object.assign(seen, { [part]: await settling.take(part) });
      isRecorded &&= matches(settling, part, seen);
      if (!isRecorded && performance.now() < endMs) break;
    }
    if ((isRecorded || performance.now() >= endMs) && isComplete(seen)) return seen;
    await pause(LOOK_EVERY_MS);
  }
}

/** While recording, there is nothing to compare with: the observation must have been unchanged for a while. */
async function quiet({ take }: Settling): Promise<Look> {
  const beganMs = performance.now();
  let [changedMs, last] = [beganMs, ""];
  for (;;) {
    const seen: Partial<Look> = {};
    for (const part of LOOKS) Object.assign(seen, { [part]: await take(part) });
    const [nowMs, text] = [performance.now(), JSON.stringify(seen)];
    if (text !== last) [changedMs, last] = [nowMs, text];
    const isQuiet = nowMs - changedMs > QUIET_MS || nowMs - beganMs > QUIET_LIMIT_MS;
    if (isQuiet && isComplete(seen)) return seen;
    await pause(LOOK_EVERY_MS);
  }
}

const isComplete = (seen: Partial<Look>): seen is Look => LOOKS.every((part) => seen[part] !== undefined);

function matches({ one, side, recording }: Settling, part: keyof Look, seen: Partial<Look>): boolean {
  const [question, answer] = [questionOf(one.name, part), answerOf(one, part, seen, side)];
  return recording.matches(question, side === "go" ? rewriteOfGo(question, answer) : answer);
}

async function look<Part extends keyof Look>(
  world: World,
  one: Case,
  side: Side,
  moments: Moments,
  part: Part,
): Promise<Look[Part]> {
  const name = podName(one, side);
  const pod = world.pods.latest(name) ?? assert.fail(`${name} is gone`);
  const facts = await world.facts(side);
  const names = { pod, place: world.place(side), facts };
  const neutrally = (value: unknown) => neutral(value, names);
  const node = world.node(side);
  const parts: { readonly [Each in keyof Look]: () => Look[Each] | Promise<Look[Each]> } = {
    statuses: () =>
      Object.fromEntries(
        Object.entries(moments).map(([moment, { status }]) => [
          moment,
          neutrally(withoutWhole(isLasting(one) ? pod.status : status)),
        ]),
      ),
    events: async () => {
      const events: Record<string, number> = {};
      for (const { type, reason, message, count, involvedObject } of reportedByBoth(await world.pods.eventsOf(name))) {
        const text = neutralText(`${type} ${reason} ${involvedObject.fieldPath ?? "-"} ${message}`, names);
        const isChance = isTriedAgain(one) || one.repeats?.events.test(text) === true;
        events[text] = (events[text] ?? 0) + (isChance ? 0 : (count ?? 1));
      }
      return Object.fromEntries(Object.entries(events).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    },
    views: () => viewsOf(world, one, side, pod, neutrally),
    node: async () => neutrally(await nodeView(node, pod.metadata?.uid ?? "")),
    requests: () =>
      requestsOf({
        calls: node.criProxy?.calls ?? assert.fail("the node has a proxy"),
        pod,
        memoryCapacityBytes: facts.memoryCapacityBytes,
        neutral: neutrally,
      }),
  };
  return parts[part]();
}

/** Without pod-level resources, which the Go kubelet reports one sync later (8.5): the resize suite compares them. */
function withoutWhole(status: Pod["status"]): unknown {
  const { resources: _, allocatedResources: __, ...written } = status ?? {};
  return written;
}

/** True for a final state; details such as the end of the sandbox may follow a moment later. */
const isLasting = ({ ending }: Case): boolean => ending.kind === "runs" || ending.kind === "ends";

async function viewsOf(
  world: World,
  one: Case,
  side: Side,
  pod: Pod,
  neutrally: (value: unknown) => unknown,
): Promise<Readonly<Record<string, unknown>>> {
  if (!isLasting(one)) return {};
  const views: Record<string, unknown> = {};
  for (const { name, restartCount } of pod.status?.containerStatuses ?? []) {
    // A container that never started has no log.
    const log = await logText(world.node(side), pod, name, restartCount).catch(() => "");
    views[name] = neutrally(parseViews(log));
  }
  return views;
}

async function sequence(world: World, one: Case, side: Side): Promise<PodSequence> {
  const name = podName(one, side);
  const versions = world.pods.versions(name).flatMap(({ kind, pod }) => (kind === "deleted" ? [] : [pod]));
  const pod = versions.findLast(({ status }) => status?.podIP !== undefined) ?? versions.at(-1) ?? assert.fail(name);
  const names = { pod, place: world.place(side), facts: await world.facts(side) };
  return sequenceOf({
    pod,
    isWhole: true,
    versions,
    events: reportedByBoth(await world.pods.eventsOf(name)),
    calls: world.node(side).criProxy?.calls ?? assert.fail("the node has a proxy"),
    side,
    neutralStatus: ({ status }) => neutral(withoutWhole(status), names),
    neutralText: (text) => neutralText(text, names),
  });
}

/** Deletes the pod and waits until nothing of it is left on the node. */
async function leave(world: World, one: Case, side: Side): Promise<readonly string[]> {
  const name = podName(one, side);
  const uid = world.pods.latest(name)?.metadata?.uid;
  if (uid === undefined) return [];
  await world.pods.delete(name, 1);
  const node = world.node(side);
  let left: readonly string[] = [];
  const isGone = async () => {
    if (world.pods.latest(name) !== undefined) {
      left = [`${name} in the API`];
      return false;
    }
    left = await leftOf(node, uid);
    return left.length === 0;
  };
  await waitUntil(`nothing of ${name} is left`, GONE_LIMIT_MS, isGone, 1_000).catch(() => undefined);
  return left;
}

/** Makes a case's pods on both nodes, takes down all that is to be seen of them, and takes them away again. */
import assert from "node:assert/strict";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import type { Side } from "../../golden/sides.ts";
import { hasEndedWhole, podOn } from "../../support/cluster-pods.ts";
import { toldByBoth } from "../../support/normal-form.ts";
import { type Case, isTriedAgain, podName, type World } from "./case.ts";
import { logText, parseViews, viewsEnded } from "./container-view.ts";
import { unlikeLooks } from "./differences.ts";
import { neutral, neutralText } from "./neutral.ts";
import { leftOf, nodeView } from "./node-view.ts";
import { type Requests, requestsOf } from "./requests.ts";

/** In neutral form. */
export interface Observation {
  /** By moment: the pod's status as it was first seen so; of a state that lasts, the newest. */
  readonly statuses: Readonly<Record<string, unknown>>;
  /** "<type> <reason> <field> <message>", with how often it was told; 0 where that is chance. */
  readonly events: Readonly<Record<string, number>>;
  /** By container: what it printed, each time. */
  readonly views: Readonly<Record<string, unknown>>;
  /** The pod's folder and mounts at that moment. */
  readonly node: unknown;
  readonly requests: Requests;
  /** What was still there after the pod was gone from the API. */
  readonly left: readonly string[];
}

export type Seen =
  | { readonly kind: "seen"; readonly seen: Observation }
  | { readonly kind: "never"; readonly why: string };
export type Both = Readonly<Record<Side, Seen>>;

const LIMIT_MS = 100_000;
const LIVE_LIMIT_MS = 240_000;
const ALIKE_LIMIT_MS = 20_000;
const GONE_LIMIT_MS = 120_000;

/** What is seen of the pods while they are there. */
export async function see(world: World, one: Case): Promise<Readonly<Record<Side, Attempt<Look>>>> {
  const begun = await onBoth((side) => attempt(() => begin(world, one, side)));
  if (one.meanwhile !== undefined) await one.meanwhile(world);
  const reached = await onBoth((side) => {
    const first = begun[side];
    return first.kind === "never" ? Promise.resolve(first) : attempt(() => reach(world, one, side));
  });
  // What a loop of either agent does a moment later counts too, so both get the time to become alike.
  return settled(one, () => onBoth((side) => look(world, one, side, reached[side])));
}

/** And what is left of them when they are gone. */
export async function takeAway(world: World, one: Case, seen: Readonly<Record<Side, Attempt<Look>>>): Promise<Both> {
  const left = await onBoth((side) => leave(world, one, side));
  return onBoth(async (side): Promise<Seen> => {
    const half = seen[side];
    return half.kind === "never" ? half : { kind: "seen", seen: { ...half.value, left: left[side] } };
  });
}

async function onBoth<T>(work: (side: Side) => Promise<T>): Promise<Readonly<Record<Side, T>>> {
  const [go, deckhand] = await Promise.all([work("go"), work("deckhand")]);
  return { go, deckhand };
}

export type Attempt<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "never"; readonly why: string };
type Moments = Readonly<Record<string, Pod>>;
export type Look = Omit<Observation, "left">;

async function attempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { kind: "done", value: await work() };
  } catch (error) {
    const { message, cause } = error as Error;
    return { kind: "never", why: cause instanceof Error ? `${message}: ${cause.message}` : message };
  }
}

/** Makes the pod; of one that is to be changed, waits until it has looked around a first time. */
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
        // Where a pod has others that run, they run by then.
        const isSo = ({ status }: Pod) =>
          status?.containerStatuses?.every(({ name: each, state }) =>
            each === "main" ? state?.waiting?.reason === reason : state?.running !== undefined,
          ) === true;
        moments[reason] = await pods.first(name, `waited for ${reason}`, isSo, limitMs);
      }
      return moments;
    }
    case "stays": {
      await pause(ending.forMs);
      const pod = pods.latest(name) ?? assert.fail(`${name} is gone`);
      assert.equal(pod.status?.phase, "Pending", `${name}: ${JSON.stringify(pod.status)}`);
      return { stays: pod };
    }
    case "told": {
      const isTold = async () => (await pods.eventsOf(name)).some(({ message }) => message?.includes(ending.text));
      try {
        await waitUntil(`an event of ${name} with ${ending.text}`, limitMs, isTold, 500);
      } catch (error) {
        const texts = (await pods.eventsOf(name)).map(({ reason, message }) => `${reason} ${message}`);
        throw new Error(`${name}: no event with ${ending.text}: ${texts.join(" | ")}`, { cause: error });
      }
      // Events and statuses go different ways.
      return { told: await pods.first(name, "was spoken of", ({ status }) => status?.containerStatuses !== undefined) };
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

/** Both, once they are alike or the time for it is over. */
async function settled(
  one: Case,
  take: () => Promise<Readonly<Record<Side, Attempt<Look>>>>,
): Promise<Readonly<Record<Side, Attempt<Look>>>> {
  const endMs = performance.now() + ALIKE_LIMIT_MS;
  for (;;) {
    const both = await take();
    const { go, deckhand } = both;
    if (performance.now() > endMs || go.kind === "never" || deckhand.kind === "never") return both;
    if (unlikeLooks(one, { go: go.value, deckhand: deckhand.value }).length === 0) return both;
    await pause(400);
  }
}

function look(world: World, one: Case, side: Side, moments: Attempt<Moments>): Promise<Attempt<Look>> {
  if (moments.kind === "never") return Promise.resolve(moments);
  return attempt(async () => {
    const name = podName(one, side);
    const pod = world.pods.latest(name) ?? assert.fail(`${name} is gone`);
    const uid = pod.metadata?.uid ?? "";
    const names = { pod, place: world.place(side), cluster: world.cluster.layout.name };
    const neutrally = (value: unknown) => neutral(value, names);
    const node = world.node(side);
    const events: Record<string, number> = {};
    for (const { type, reason, message, count, involvedObject } of toldByBoth(await world.pods.eventsOf(name))) {
      const text = neutralText(`${type} ${reason} ${involvedObject.fieldPath ?? "-"} ${message}`, names);
      events[text] = (events[text] ?? 0) + (isTriedAgain(one) ? 0 : (count ?? 1));
    }
    return {
      statuses: Object.fromEntries(
        Object.entries(moments.value).map(([moment, { status }]) => [
          moment,
          neutrally(withoutWhole(isLasting(one) ? pod.status : status)),
        ]),
      ),
      events: Object.fromEntries(Object.entries(events).toSorted(([a], [b]) => (a < b ? -1 : 1))),
      views: await viewsOf(world, one, side, pod, neutrally),
      node: neutrally(await nodeView(node, uid)),
      requests: requestsOf(node.criProxy?.calls ?? assert.fail("the node has a proxy"), uid, neutrally),
    };
  });
}

/** Without the resources of the pod as a whole, which the Go kubelet tells one look later (8.5): those are compared where pods are resized. */
function withoutWhole(status: Pod["status"]): unknown {
  const { resources: _, allocatedResources: __, ...written } = status ?? {};
  return written;
}

/** A state it stays in; what belongs to it may come a moment later, such as the end of its sandbox. */
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
    // Of a container that never began there is no log.
    const log = await logText(world.node(side), pod, name, restartCount).catch(() => "");
    views[name] = neutrally(parseViews(log));
  }
  return views;
}

/** Deletes the pod and waits until the node has nothing of it. */
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

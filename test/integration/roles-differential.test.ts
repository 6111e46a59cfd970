/**
 * The same pods under the Go kubelet and under Deckhand, in one cluster: init containers, sidecars, hooks, restart rules, containers to look in with,
 * and whole lives from the start to the end. What is published, what is told as events and what the runtime is told must be the same.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Pod, PodStatus } from "../../src/api/gen/core-v1.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { NODES, nameOn, SIDES, type Side } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { BUSYBOX, type ClusterPods, podOn, SLEEPER } from "../support/cluster-pods.ts";
import { answered, runsOf } from "../support/cri-log.ts";
import { neutralEvents, neutralStatus } from "../support/normal-form.ts";
import { Observed } from "../support/observed.ts";
import { messagesOf } from "../support/runtime-messages.ts";
import type { Case } from "./roles-differential/case.ts";
import { CASES } from "./roles-differential/cases.ts";

/** Under way at once on each side. */
const BATCH = 6;

let both: BothAgents;
let pods: ClusterPods;

before(async () => {
  both = await BothAgents.start();
  ({ pods } = both);
});

after(() => both.end());

/** By its last word the Go kubelet may have forgotten which address a pod had. */
function withoutAddress(pod: Pod): Pod {
  const { podIP: _, podIPs: __, ...status } = pod.status ?? {};
  return { ...pod, status };
}

interface Seen {
  readonly pod: Pod;
  /** The last that was published before it was gone. */
  readonly last: Pod | undefined;
}

async function observe(name: string, { spec, until, ends, meanwhile }: Case, side: Side): Promise<Seen> {
  const own = nameOn(side, name);
  await pods.create(podOn(NODES[side], own, spec));
  if (meanwhile !== undefined) {
    await pods.first(own, "started", ({ status }) => status?.phase === "Running");
    await meanwhile((...args) => both.cluster.kubectl(...args), own);
  }
  const pod = await pods.first(own, until.what, until.is, 120_000);
  if (ends === undefined) return { pod, last: undefined };
  // A shell that was started just now does not listen yet.
  await pause(1_000);
  await pods.delete(own, spec.terminationGracePeriodSeconds);
  await pods.gone(own, 120_000);
  return { pod, last: pods.versions(own).findLast(({ kind }) => kind !== "deleted")?.pod };
}

void suite("pods with roles, under both agents", () => {
  const observed = new Observed<Seen>();
  const of = (name: string, side: Side) => observed.of(name, side);

  before(() =>
    observed.observe(Object.keys(CASES), BATCH, (name, side) => observe(name, CASES[name] ?? assert.fail(name), side)),
  );

  for (const [name, { rows, until, byChance }] of Object.entries(CASES)) {
    // A title names three at most; `differential-rows.ts` has them all.
    const named = rows.slice(0, 3).map((row) => `[${row}]`);
    test(`${named.join("")} ${name}: the same is published, told and asked of the runtime`, async () => {
      const [go, ours] = [of(name, "go"), of(name, "deckhand")];
      if (until.isLoose === true) await toldAlike(name, until.is);
      else assert.deepEqual(neutralStatus(ours.pod), neutralStatus(go.pod), until.what);
      if (go.last !== undefined && ours.last !== undefined) {
        const isLost = go.last.status?.podIP === undefined;
        const own = isLost ? withoutAddress(ours.last) : ours.last;
        assert.deepEqual(neutralStatus(own), neutralStatus(go.last), "when it ended");
      }
      const [theirEvents, ourEvents] = await Promise.all(
        SIDES.map(async (side) => neutralEvents(await pods.eventsOf(nameOn(side, name)), of(name, side).pod)),
      );
      const kinds = (events: ReadonlyMap<string, number> = new Map()) =>
        [...events.keys()].filter((text) => byChance?.test(text) !== true).toSorted();
      assert.deepEqual(kinds(ourEvents), kinds(theirEvents));
      // How often what waits was told depends on the moment.
      if (until.isLoose !== true) assert.deepEqual(ourEvents, theirEvents);
      for (const method of ["RunPodSandbox", "CreateContainer"]) {
        const [theirs, own] = SIDES.map((side) => firstMessages(name, method, side, of(name, side).pod));
        assert.ok(theirs !== undefined && (theirs.length > 0 || name === "init-without-image"), method);
        assert.deepEqual(own, theirs, method);
      }
    });
  }

  /** Of what either told while it was so, something is the same. */
  async function toldAlike(name: string, is: Case["until"]["is"]): Promise<void> {
    const told = (side: Side) =>
      pods.versions(nameOn(side, name)).flatMap(({ kind, pod }) => (kind !== "deleted" && is(pod) ? [pod] : []));
    const areAlike = async () =>
      told("deckhand").some((own) => told("go").some((theirs) => isDeepStrictEqual(...neutral(own, theirs))));
    const neutral = (own: Pod, theirs: Pod) => [neutralStatus(own), neutralStatus(theirs)] as const;
    await waitUntil(`${name} to be told alike`, 120_000, areAlike, 200).catch(() => {
      assert.deepEqual(...neutral(of(name, "deckhand").pod, of(name, "go").pod), `${name}: nothing is the same`);
    });
  }

  /** Of each container the first: how often it was made again by now depends on the moment. */
  function firstMessages(name: string, method: string, side: Side, pod: Pod): readonly unknown[] {
    const messages = messagesOf(both.proxy(side), method, pod, NODES[side]);
    const wanted = CASES[name]?.until.isLoose === true ? messages.filter(isFirst) : messages;
    return wanted.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }

  test("[7.9] containers are asked to end in the same order, sidecars last and the first of them last of all", () => {
    const orders = SIDES.map((side) => stopOrder(side, of("sidecars-in-order", side).pod));
    for (const order of orders) {
      assert.deepEqual(order.slice(0, 2).toSorted(), ["main", "other"]);
      assert.deepEqual(order.slice(2), ["second", "first"]);
    }
  });

  test("[7.15] the next container waits for the hook of the one before, under both", () => {
    for (const side of SIDES) {
      const [main, second] = runsOf(both.proxy(side).calls, of("post-start", side).pod.metadata?.uid ?? "");
      assert.ok(main?.container === "main" && second?.container === "second");
      assert.ok(second.startedWallMs - main.startedWallMs >= 1_000, side);
    }
  });
});

/** Names of containers, in the order in which the runtime was asked to stop them. */
function stopOrder(side: Side, pod: Pod): readonly string[] {
  const runs = runsOf(both.proxy(side).calls, pod.metadata?.uid ?? "");
  const stops = answered(both.proxy(side).calls, "StopContainer").toSorted((a, b) => a.startedWallMs - b.startedWallMs);
  const names = stops.flatMap(({ id }) => runs.filter((run) => run.id === id).map(({ container }) => container));
  return [...new Set(names)];
}

const isFirst = (message: unknown): boolean =>
  (message as { readonly config?: { readonly metadata?: { readonly attempt?: number } } }).config?.metadata?.attempt ===
  0;

void suite("containers to look in with", () => {
  test("[7.20] kubectl debug adds one that sees the processes of its target, and both agents tell the same of it", async () => {
    const [go, ours] = await Promise.all(SIDES.map((side) => lookInto(side, ["ps", "-o", "args"], /sleep 1000/)));
    assert.deepEqual(ours, go);
    assert.equal(go?.made.length, 2);
  });

  // It is never started again, so it does not wait: the Go kubelet says so after its own restart only.
  test("[7.20] one that cannot start has ended, and the Go kubelet says that it waits; all else is the same", async () => {
    const [go, ours] = await Promise.all(SIDES.map((side) => lookInto(side, ["/no/such/program"])));
    assert.ok(go !== undefined && ours !== undefined);
    assert.deepEqual({ ...ours, debug: [] }, { ...go, debug: [] });
    const [[own], [theirs]] = [ours.debug, go.debug];
    assert.equal(own?.state?.terminated?.reason, "StartError");
    assert.equal(theirs?.state?.waiting?.reason, "RunContainerError");
    assert.deepEqual(own.state, theirs.lastState);
  });
});

/** What is told of a pod, and of the container that was added to it to look in with. */
async function lookInto(side: Side, command: readonly string[], seen?: RegExp) {
  const name = nameOn(side, seen === undefined ? "looked-into-in-vain" : "looked-into");
  await pods.create(podOn(NODES[side], name, { containers: [SLEEPER] }));
  await pods.running(name);
  const options = ["--image", BUSYBOX, "--target", "main", "-c", "debug", "--profile", "general"];
  await both.cluster.kubectl("debug", name, ...options, "--", ...command);
  const isOver = ({ status }: Pod) =>
    status?.ephemeralContainerStatuses?.some(
      ({ state }) => state?.terminated !== undefined || state?.waiting?.reason === "RunContainerError",
    ) === true;
  const pod = await pods.first(name, "was looked into", isOver);
  if (seen !== undefined) assert.match(await both.cluster.kubectl("logs", name, "-c", "debug"), seen, side);
  await pause(1_000);
  const latest = pods.latest(name) ?? pod;
  assert.equal(latest.status?.ephemeralContainerStatuses?.[0]?.restartCount, 0);
  const events = neutralEvents(await pods.eventsOf(name), latest);
  const made = messagesOf(both.proxy(side), "CreateContainer", latest, NODES[side]);
  const { ephemeralContainerStatuses = [], ...status } = neutralStatus(pod) as PodStatus;
  return { status, debug: ephemeralContainerStatuses, events, made };
}

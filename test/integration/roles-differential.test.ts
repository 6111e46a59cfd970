/**
 * Init containers, sidecars, hooks, restart rules, ephemeral containers, and whole lives from start to end: what
 * Deckhand publishes, reports as events and requests from the runtime for such pods is what the Go kubelet does.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { ContainerStatus, Pod, PodStatus } from "../../src/api/gen/core-v1.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { Recording } from "../golden/recording.ts";
import { type PodSequence, SEQUENCE } from "../golden/sequence.ts";
import { comparisonMode, deckhandTest, NODES, nameOn, SIDES, type Side } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { BUSYBOX, type ClusterPods, podOn, SLEEPER } from "../support/cluster-pods.ts";
import { answered, runsOf } from "../support/cri-log.ts";
import { neutralEvents, neutralStatus } from "../support/normal-form.ts";
import { Observed } from "../support/observed.ts";
import { podSequence } from "../support/pod-sequence.ts";
import { messagesOf } from "../support/runtime-messages.ts";
import { settled } from "../support/settled.ts";
import type { Case } from "./roles-differential/case.ts";
import { CASES } from "./roles-differential/cases.ts";

const recording = Recording.open("roles-differential");

/** Concurrent pods on a node; fewer with both agents on the machine. */
const AT_ONCE = comparisonMode === "recorded" ? 16 : 8;
/** A state of a pod that lasts this long counts as final. */
const REST_MS = 1_500;
const WAIT_MS = 120_000;

let both: BothAgents;
let pods: ClusterPods;

before(async () => {
  both = await BothAgents.start();
  ({ pods } = both);
});

after(() => both.end());

/** The Go kubelet may have lost the address by its final status, so the suite compares that status without it. */
function withoutAddress(pod: Pod): Pod {
  const { podIP: _, podIPs: __, ...status } = pod.status ?? {};
  return { ...pod, status };
}

interface Seen {
  readonly pod: Pod;
  /** The last version before the pod was removed. */
  readonly last: Pod | undefined;
  readonly sequence: PodSequence;
}

async function observe(name: string, { spec, until, ends, meanwhile }: Case, side: Side): Promise<Seen> {
  const own = nameOn(side, name);
  await pods.create(podOn(NODES[side], own, spec));
  if (meanwhile !== undefined) {
    await pods.first(own, "started", ({ status }) => status?.phase === "Running");
    await meanwhile((...args) => both.cluster.kubectl(...args), own);
  }
  const pod = await rested(own, until);
  if (ends === undefined) return { pod, last: undefined, sequence: await podSequence(both, own, side, { last: pod }) };
  await pods.delete(own, spec.terminationGracePeriodSeconds);
  await pods.gone(own, WAIT_MS);
  const last = pods.versions(own).findLast(({ kind }) => kind !== "deleted")?.pod;
  return { pod, last, sequence: await podSequence(both, own, side) };
}

/**
 * The last of the first consecutive versions that are as wanted: an agent may need several writes until all of a state
 * is published.
 */
async function rested(own: string, { what, is }: Case["until"]): Promise<Pod> {
  await pods.first(own, what, is, WAIT_MS);
  let pod: Pod | undefined;
  await waitUntil(`${own} to rest`, WAIT_MS, async () => {
    const versions = pods.versions(own).filter(({ kind }) => kind !== "deleted");
    const later = versions.slice(versions.findIndex((version) => is(version.pod)));
    const end = later.findIndex((version) => !is(version.pod));
    const last = end === -1 ? later.at(-1) : later[end - 1];
    pod = last?.pod;
    return end !== -1 || Date.now() - (last?.seenWallMs ?? 0) >= REST_MS;
  });
  return pod ?? assert.fail(own);
}

void suite("pods with roles", () => {
  const observed = new Observed<Seen>();
  const of = (name: string, side: Side) => observed.of(name, side);

  /** The slowest cases first: a slow one that began last would run alone. */
  const goesOn = (name: string) => CASES[name]?.until.goesOn === true;
  const names = [...Object.keys(CASES).filter(goesOn), ...Object.keys(CASES).filter((name) => !goesOn(name))];

  before(() => observed.observe(names, AT_ONCE, (name, side) => observe(name, CASES[name] ?? assert.fail(name), side)));

  for (const [name, { rows, ends, onlyGo }] of Object.entries(CASES)) {
    // A title names at most three rows; `differential-rows.ts` has them all.
    const named = rows.slice(0, 3).map((row) => `[${row}]`);
    test(`${named.join("")} ${name}: status, events and runtime requests are the Go kubelet's`, async () => {
      await recording.check(`${name} status`, (side) => neutralStatus(of(name, side).pod));
      if (ends !== undefined) await compareEnd(name);
      await recording.check(`${name} ${SEQUENCE}`, (side) => of(name, side).sequence);
      const events = `${name} events`;
      await recording.check(events, (side) => settled(recording, events, () => eventsOf(name, side)));
      if (comparisonMode === "record" && onlyGo !== undefined) {
        const found = [...(await countsOf(name, "go")).keys()].some((event) => isOnlyGo(name, event));
        assert.ok(found, `no longer needed: ${onlyGo.why}`);
      }
      for (const method of ["RunPodSandbox", "CreateContainer"]) {
        await recording.check(`${name} ${method}`, (side) => {
          const messages = firstMessages(name, method, side, of(name, side).pod);
          assert.ok(messages.length > 0 || name === "init-without-image", method);
          return messages;
        });
      }
    });
  }

  async function compareEnd(name: string): Promise<void> {
    const lastOf = (side: Side) => of(name, side).last ?? assert.fail(`${name} was published until it was gone`);
    await recording.check(`${name} last status`, (side) => neutralStatus(withoutAddress(lastOf(side))));
    for (const side of SIDES.filter((one) => one === "deckhand")) {
      assert.equal(lastOf(side).status?.podIP, of(name, side).pod.status?.podIP, "Deckhand keeps the address");
    }
  }

  const countsOf = async (name: string, side: Side) =>
    neutralEvents(await pods.eventsOf(nameOn(side, name)), of(name, side).pod);
  const isOnlyGo = (name: string, event: string) => CASES[name]?.onlyGo?.event.test(event) === true;

  /** Events with their counts, or without them if the pod keeps changing. */
  async function eventsOf(name: string, side: Side): Promise<unknown> {
    const counts = [...(await countsOf(name, side))].filter(([event]) => side !== "go" || !isOnlyGo(name, event));
    return goesOn(name) ? new Set(counts.map(([event]) => event)) : new Map(counts);
  }

  /** If the pod keeps changing, only the first message of each container. */
  function firstMessages(name: string, method: string, side: Side, pod: Pod): readonly unknown[] {
    const messages = messagesOf(both.proxy(side), method, pod, NODES[side]);
    const wanted = goesOn(name) ? messages.filter(isFirst) : messages;
    return wanted.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }

  test("[7.9] StopContainer calls have the same order: containers first, then sidecars in reverse order", () => {
    const orders = SIDES.map((side) => stopOrder(side, of("sidecars-in-order", side).pod));
    for (const order of orders) {
      assert.deepEqual(order.slice(0, 2).toSorted(), ["main", "other"]);
      assert.deepEqual(order.slice(2), ["second", "first"]);
    }
  });

  test("[7.15] postStart hook blocks the next container, under both agents", () => {
    for (const side of SIDES) {
      const [main, second] = runsOf(both.proxy(side).calls, of("post-start", side).pod.metadata?.uid ?? "");
      assert.ok(main?.container === "main" && second?.container === "second");
      assert.ok(second.startedWallMs - main.startedWallMs >= 1_000, side);
    }
  });
});

/** Names of containers, in the order in which the agent requested their stop. */
function stopOrder(side: Side, pod: Pod): readonly string[] {
  const runs = runsOf(both.proxy(side).calls, pod.metadata?.uid ?? "");
  const stops = answered(both.proxy(side).calls, "StopContainer").toSorted((a, b) => a.startedWallMs - b.startedWallMs);
  const names = stops.flatMap(({ id }) => runs.filter((run) => run.id === id).map(({ container }) => container));
  return [...new Set(names)];
}

const isFirst = (message: unknown): boolean =>
  (message as { readonly config?: { readonly metadata?: { readonly attempt?: number } } }).config?.metadata?.attempt ===
  0;

void suite("ephemeral containers", () => {
  test("[7.20] kubectl debug adds an ephemeral container that sees its target's processes, and its pod has the Go kubelet's status", async () => {
    await compareDebugged("looked-into", ["ps", "-o", "args"], (_, debug) => debug);
    for (const side of SIDES) {
      const log = await both.cluster.kubectl("logs", nameOn(side, "looked-into"), "-c", "debug");
      assert.match(log, /sleep 1000/, side);
    }
  });

  test("[7.20] ephemeral container that cannot start is terminated, where the Go kubelet reports waiting; all else is the same", async () => {
    // No agent restarts an ephemeral container, so it does not wait. The Go kubelet publishes that only after its own
    // restart.
    await compareDebugged("looked-into-in-vain", ["/no/such/program"], (side, debug) => {
      if (side === "deckhand") {
        assert.equal(debug.state?.terminated?.reason, "StartError");
        return debug;
      }
      assert.equal(debug.state?.waiting?.reason, "RunContainerError");
      return { ...debug, state: debug.lastState, lastState: {} };
    });
  });

  deckhandTest("every answer was compared with the recording", () => {
    figure("values compared", recording.compared, "values");
    assert.ok(recording.compared > 0);
  });
});

/** Adds an ephemeral container to a pod, and compares the pod and that container's status. */
async function compareDebugged(
  name: string,
  command: readonly string[],
  shown: (side: Side, debug: ContainerStatus) => object,
): Promise<void> {
  const seen = new Map(
    await Promise.all(SIDES.map(async (side) => [side, await debugged(nameOn(side, name), side, command)] as const)),
  );
  const podOf = (side: Side) => seen.get(side) ?? assert.fail(side);
  const statusOf = (side: Side) => neutralStatus(podOf(side)) as PodStatus;
  await recording.check(`${name} status`, (side) => {
    const { ephemeralContainerStatuses: _, ...status } = statusOf(side);
    return status;
  });
  await recording.check(`${name} ephemeral container`, (side) => {
    const [debug] = statusOf(side).ephemeralContainerStatuses ?? [];
    return shown(side, debug ?? assert.fail("it is published"));
  });
  const events = `${name} events`;
  await recording.check(events, (side) =>
    settled(recording, events, async () => neutralEvents(await pods.eventsOf(nameOn(side, name)), podOf(side))),
  );
  await recording.check(`${name} CreateContainer`, (side) => {
    const messages = messagesOf(both.proxy(side), "CreateContainer", podOf(side), NODES[side]);
    assert.equal(messages.length, 2);
    return messages;
  });
  for (const side of SIDES) {
    const latest = pods.latest(nameOn(side, name));
    assert.equal(latest?.status?.ephemeralContainerStatuses?.[0]?.restartCount, 0);
  }
}

async function debugged(name: string, side: Side, command: readonly string[]): Promise<Pod> {
  await pods.create(podOn(NODES[side], name, { containers: [SLEEPER] }));
  await pods.running(name);
  const options = ["--image", BUSYBOX, "--target", "main", "-c", "debug", "--profile", "general"];
  await both.cluster.kubectl("debug", name, ...options, "--", ...command);
  const hasEnded = ({ status }: Pod) =>
    status?.ephemeralContainerStatuses?.some(
      ({ state }) => state?.terminated !== undefined || state?.waiting?.reason === "RunContainerError",
    ) === true;
  const pod = await pods.first(name, "had an ephemeral container that ended", hasEnded);
  // A restart of the container would follow at once.
  await pause(1_000);
  return pod;
}

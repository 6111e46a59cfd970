/**
 * Every restart policy with every way to terminate: what Deckhand publishes, reports as events and requests from the
 * runtime, and when it restarts a container, is what the Go kubelet does.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { Recording } from "../golden/recording.ts";
import { SEQUENCE } from "../golden/sequence.ts";
import { comparisonMode, deckhandTest, NODES, SIDES, type Side } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { type ClusterPods, hasEndedWhole, podOn } from "../support/cluster-pods.ts";
import { runsOf } from "../support/cri-log.ts";
import { neutralEvents, neutralStatus } from "../support/normal-form.ts";
import { podSequence } from "../support/pod-sequence.ts";
import { settled } from "../support/settled.ts";
import { CASES, FINISHED, isRestarted, RESTARTED, type RestartCase, titleOf } from "./restart-differential/cases.ts";
import { runtimeRefusals } from "./restart-differential/runtime-refusals.ts";
import { runtimeRequests } from "./restart-differential/runtime-requests.ts";

const recording = Recording.open("restart-differential");

const nameOf = ({ policy, end }: RestartCase, side: Side) => `${policy.toLowerCase()}-${end}-${NODES[side]}`;

/** For the runs 0, 1 and 2: how long after its end the next one may begin. */
const BACKOFFS_MS = [0, 10_000, 20_000] as const;
const LATER_THAN_GO_MS_MAX = 1_000;
/** Recorded delays are rounded up to a multiple of this, so that runs of the recording agree more often. */
const RECORDED_STEP_MS = 100;

const waitsAfter = (restarts: number) => (pod: Pod) => {
  const status = pod.status?.containerStatuses?.[0];
  return status?.restartCount === restarts && status.state?.waiting?.reason === "CrashLoopBackOff";
};

const APART_MS = 400;
const WAIT_MS = 120_000;

let world: BothAgents;
let pods: ClusterPods;

before(async () => {
  world = await BothAgents.start();
  ({ pods } = world);
  for (const [index, one] of CASES.entries()) {
    // Alternates which side is first, and spreads the pods over time: a crowd would measure the machine.
    for (const side of index % 2 === 0 ? SIDES : SIDES.toReversed()) {
      await pods.create(podOn(NODES[side], nameOf(one, side), one.spec));
      await pause(APART_MS);
    }
  }
});

after(() => world.end());

void suite("pods that end", () => {
  test("[7.10][11.1] a pod that is not restarted ends in the same phase, with the same status", async () => {
    for (const one of FINISHED) {
      await recording.check(`${titleOf(one)} status`, async (side) => {
        const pod = await pods.first(nameOf(one, side), "ended", hasEndedWhole, WAIT_MS);
        assert.equal(pod.status?.phase, one.end === "exit0" ? "Succeeded" : "Failed", titleOf(one));
        const runs = runsOf(world.proxy(side).calls, pod.metadata?.uid ?? "");
        assert.equal(runs.length, 1, `${titleOf(one)} on ${side}`);
        return neutralStatus(pod);
      });
    }
  });

  test("[7.13][7.18] a pod that is restarted waits with the same status, after each termination", async () => {
    const codes = { exit0: 0, exit1: 1, signal: 137, oom: 137 } as const;
    for (const restarts of [1, 2]) {
      for (const one of RESTARTED) {
        const where = `${titleOf(one)} after restart ${restarts}`;
        await recording.check(`${where}: status`, async (side) => {
          const pod = await pods.first(nameOf(one, side), `waited ${where}`, waitsAfter(restarts), WAIT_MS);
          const last = pod.status?.containerStatuses?.[0]?.lastState?.terminated;
          assert.equal(last?.exitCode, codes[one.end], where);
          return neutralStatus(pod);
        });
      }
    }
  });

  test("[7.13] containers restart when the back-off ends, never before and not later than the Go kubelet's", async (t) => {
    const runs = (one: RestartCase, side: Side) => runsOf(world.proxy(side).calls, uidOf(one, side)).length;
    const done = async () => SIDES.every((side) => RESTARTED.every((one) => runs(one, side) > BACKOFFS_MS.length));
    await waitUntil("the third restart of all", WAIT_MS, done, 200);
    const late = new Map(SIDES.map((side) => [side, lateness(side)]));
    for (const [side, rounds] of late) {
      for (const [index, round] of rounds.entries())
        t.diagnostic(`${side}, restart ${index + 1}: ${round.map(Math.round).join(" ")} ms after the back-off`);
    }
    for (const index of BACKOFFS_MS.keys()) {
      const theirs = late.get("go")?.[index];
      const question = (of: string) => `restart ${index + 1}: ${of} start after the back-off, ms`;
      if (comparisonMode === "record") {
        for (const [of, ms] of Object.entries(summary(theirs ?? assert.fail("the Go kubelet runs")))) {
          await recording.check(question(of), () => Math.ceil(ms / RECORDED_STEP_MS) * RECORDED_STEP_MS);
        }
        continue;
      }
      const own = summary(late.get("deckhand")?.[index] ?? assert.fail("Deckhand runs"));
      const recorded = (of: string) => Math.max(...recording.answers(question(of)).map(Number));
      const limits =
        theirs === undefined ? { median: recorded("median"), latest: recorded("latest") } : summary(theirs);
      const where = `restart ${index + 1}: most ${own.median} ms after the back-off, the Go kubelet's ${limits.median} ms`;
      assert.ok(own.median <= limits.latest + LATER_THAN_GO_MS_MAX, where);
      assert.ok(own.median <= limits.median + LATER_THAN_GO_MS_MAX, where);
    }
    const latestMs = Math.max(...([...late.values()].at(-1)?.flat() ?? []));
    figure("longest from the end of a back-off to the start", Math.round(latestMs), "ms");
  });

  test("[7.13][11.1][11.2] statuses, events and calls to the runtime come in the same order", async () => {
    for (const one of CASES) {
      await recording.check(`${titleOf(one)} ${SEQUENCE}`, async (side) => {
        const isLast = isRestarted(one) ? waitsAfter(2) : hasEndedWhole;
        const last = await pods.first(nameOf(one, side), "came so far", isLast, WAIT_MS);
        return podSequence(world, nameOf(one, side), side, { last });
      });
    }
  });

  test("[23.1][7.13] the events have the same reasons, messages and counts", async () => {
    for (const one of CASES) {
      const question = `${titleOf(one)} events`;
      await recording.check(question, (side) => settled(recording, question, () => eventsOf(one, side)));
    }
  });
});

/** The kinds of events, with their counts if the pod has terminated. */
async function eventsOf(one: RestartCase, side: Side): Promise<unknown> {
  const name = nameOf(one, side);
  const events = neutralEvents(await pods.eventsOf(name), pods.latest(name) ?? assert.fail(name));
  return isRestarted(one) ? new Set(events.keys()) : events;
}

/** The delay of one pod means nothing on a machine that others keep busy; the median of all does. */
const summary = (delays: readonly number[]) => ({
  median: delays.toSorted((a, b) => a - b)[Math.floor(delays.length / 2)] ?? assert.fail("something was measured"),
  latest: Math.max(...delays),
});

const uidOf = (one: RestartCase, side: Side): string =>
  pods.latest(nameOf(one, side))?.metadata?.uid ?? assert.fail(titleOf(one));

/** For each back-off: how long after its end the next run of each pod began. No run of Deckhand begins before. */
function lateness(side: Side): readonly (readonly number[])[] {
  const delays = new Map(RESTARTED.map((one) => [titleOf(one), delaysOf(one, side)]));
  return BACKOFFS_MS.map((floorMs, index) =>
    [...delays].map(([title, own]) => {
      const delay = own[index] ?? assert.fail(title);
      const where = `${title}, restart ${index + 1} of ${side}: ${delay} ms after the end`;
      assert.ok(side === "go" || delay >= floorMs, where);
      return delay - floorMs;
    }),
  );
}

/** The delays from the end of each of the first runs to the start of the next. */
function delaysOf(one: RestartCase, side: Side): readonly number[] {
  const runs = runsOf(world.proxy(side).calls, uidOf(one, side));
  assert.deepEqual(
    runs.slice(0, 4).map(({ attempt }) => attempt),
    [0, 1, 2, 3],
    titleOf(one),
  );
  return BACKOFFS_MS.map((_, index) => {
    const [run, next] = [runs[index], runs[index + 1]];
    assert.ok(run?.finishedWallMs !== undefined && next !== undefined, titleOf(one));
    return next.startedWallMs - run.finishedWallMs;
  });
}

runtimeRequests({
  recording,
  pods: () => pods,
  proxy: (side) => world.proxy(side),
});

runtimeRefusals({
  recording,
  pods: () => pods,
  proxy: (side) => world.proxy(side),
});

deckhandTest("every answer was compared with the recording", () => {
  figure("values compared", recording.compared, "values");
  assert.ok(recording.compared > 0);
});

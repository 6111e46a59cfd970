/**
 * The same pods under the Go kubelet and under Deckhand, in one cluster and at once: every restart policy with every way to end. What
 * is published, what is told as events, when it is run again, and what the runtime is told must be the same.
 */
import assert from "node:assert/strict";
import { loadavg } from "node:os";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { NODES, SIDES, type Side } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { type ClusterPods, hasEndedWhole, podOn } from "../support/cluster-pods.ts";
import { runsOf } from "../support/cri-log.ts";
import { neutralEvents, neutralStatus } from "../support/normal-form.ts";
import { CASES, FINISHED, isRestarted, RESTARTED, type RestartCase } from "./restart-differential/cases.ts";
import { runtimeRequests } from "./restart-differential/runtime-requests.ts";

const nameOf = ({ policy, end }: RestartCase, side: Side) => `${policy.toLowerCase()}-${end}-${NODES[side]}`;
const titleOf = ({ policy, end }: RestartCase) => `${policy} ${end}`;

/** Of the runs 0, 1 and 2: how long after its end the next one may begin. */
const BACKOFFS_MS = [0, 10_000, 20_000] as const;
const LATER_THAN_GO_MS_MAX = 1_000;

const waitsAfter = (restarts: number) => (pod: Pod) => {
  const status = pod.status?.containerStatuses?.[0];
  return status?.restartCount === restarts && status.state?.waiting?.reason === "CrashLoopBackOff";
};

const APART_MS = 400;
/** Two agents, two runtimes and a control plane on their own stay below this. */
const BUSY_LOAD_MIN = 8;

let world: BothAgents;
let pods: ClusterPods;

before(async () => {
  world = await BothAgents.start();
  ({ pods } = world);
  for (const [index, one] of CASES.entries()) {
    // Neither side always goes first, and a crowd would measure the machine.
    for (const side of index % 2 === 0 ? SIDES : SIDES.toReversed()) {
      await pods.create(podOn(NODES[side], nameOf(one, side), one.spec));
      await pause(APART_MS);
    }
  }
});

after(() => world.end());

async function both(one: RestartCase, what: string, is: (pod: Pod) => boolean) {
  const [go, ours] = await Promise.all(SIDES.map((side) => pods.first(nameOf(one, side), what, is, 120_000)));
  assert.ok(go !== undefined && ours !== undefined);
  return { go, ours };
}

void suite("pods that end, under both agents", () => {
  test("[7.10][11.1] a pod that is not run again ends in the same phase, with the same last words", async () => {
    for (const one of FINISHED) {
      const { go, ours } = await both(one, "ended", hasEndedWhole);
      assert.equal(ours.status?.phase, one.end === "exit0" ? "Succeeded" : "Failed", titleOf(one));
      assert.deepEqual(neutralStatus(ours), neutralStatus(go), titleOf(one));
      for (const side of SIDES) {
        const { metadata } = side === "go" ? go : ours;
        assert.equal(runsOf(world.proxy(side).calls, metadata?.uid ?? "").length, 1, `${titleOf(one)} on ${side}`);
      }
    }
  });

  test("[7.13][7.18] a pod that is run again waits and says so alike, after each of its ends", async () => {
    for (const restarts of [1, 2]) {
      for (const one of RESTARTED) {
        const { go, ours } = await both(one, `waited after restart ${restarts}`, waitsAfter(restarts));
        const where = `${titleOf(one)} after restart ${restarts}`;
        const last = ours.status?.containerStatuses?.[0]?.lastState?.terminated;
        const codes = { exit0: 0, exit1: 1, signal: 137, oom: 137 } as const;
        assert.equal(last?.exitCode, codes[one.end], where);
        assert.deepEqual(neutralStatus(ours), neutralStatus(go), where);
      }
    }
  });

  test("[7.13] the runs begin when the back-off is over, never before and not after the Go kubelet's", async (t) => {
    let latestMs = 0;
    const seen: readonly { own: number; theirs: number; where: string }[][] = BACKOFFS_MS.map(() => []);
    const runs = (one: RestartCase, side: Side) => runsOf(world.proxy(side).calls, uidOf(one, side)).length;
    const done = async () => SIDES.every((side) => RESTARTED.every((one) => runs(one, side) > BACKOFFS_MS.length));
    await waitUntil("the third restart of all", 120_000, done, 200);
    for (const one of RESTARTED) {
      const delays = SIDES.map((side) => delaysOf(one, side));
      const [go = [], ours = []] = delays;
      assert.equal(ours.length, BACKOFFS_MS.length, titleOf(one));
      for (const [index, floorMs] of BACKOFFS_MS.entries()) {
        const [own, theirs] = [ours[index] ?? assert.fail(), go[index] ?? assert.fail()];
        const where = `${titleOf(one)}, restart ${index + 1}: ${own} ms after the end, the Go kubelet's ${theirs} ms`;
        assert.ok(own >= floorMs, where);
        latestMs = Math.max(latestMs, own - floorMs);
        seen[index]?.push({ own, theirs, where });
      }
      t.diagnostic(
        `${titleOf(one)}: ours ${ours.map(Math.round).join(" ")} ms, Go's ${go.map(Math.round).join(" ")} ms`,
      );
    }
    const load = loadavg()[0] ?? 0;
    const isBusy = load > BUSY_LOAD_MIN;
    t.diagnostic(`load of the machine: ${load.toFixed(1)}`);
    for (const round of seen) {
      // One pod's moment says nothing on a machine that others keep busy; the middle of all does.
      const latest = Math.max(...round.map(({ theirs }) => theirs));
      for (const { own, where } of round) assert.ok(isBusy || own <= latest + LATER_THAN_GO_MS_MAX, where);
      const [own, theirs] = [median(round.map((one) => one.own)), median(round.map((one) => one.theirs))];
      assert.ok(own <= theirs + LATER_THAN_GO_MS_MAX, `most after ${own} ms, the Go kubelet's after ${theirs} ms`);
    }
    figure("longest from the end of a back-off to the start", Math.round(latestMs), "ms");
  });

  test("[23.1][7.13] the same events are told, in the same words", async () => {
    for (const one of CASES) {
      const [go, ours] = await Promise.all(
        SIDES.map(async (side) => {
          const name = nameOf(one, side);
          return neutralEvents(await pods.eventsOf(name), pods.latest(name) ?? assert.fail(name));
        }),
      );
      assert.ok(go !== undefined && ours !== undefined);
      assert.deepEqual([...ours.keys()].toSorted(), [...go.keys()].toSorted(), titleOf(one));
      // How far the others are by now depends on the moment.
      if (!isRestarted(one)) assert.deepEqual(ours, go, titleOf(one));
    }
  });
});

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? assert.fail("something was measured");

const uidOf = (one: RestartCase, side: Side): string =>
  pods.latest(nameOf(one, side))?.metadata?.uid ?? assert.fail(titleOf(one));

/** From the end of each of the first runs to the start of the next. */
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

runtimeRequests(() => ({
  pods,
  go: { node: NODES.go, proxy: world.proxy("go") },
  deckhand: { node: NODES.deckhand, proxy: world.proxy("deckhand") },
}));

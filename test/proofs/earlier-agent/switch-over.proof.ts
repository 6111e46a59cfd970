/**
 * A node's agent is replaced by the agent of another commit, forward and back. No container restarts and no pod is
 * reported as not Ready. A pod that terminates when its agent ends still terminates within its grace period. Each agent
 * reads the journal of the other.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { buildCommit, commitNamed } from "../../../tools/build/commit.ts";
import { BUSYBOX_IMAGE } from "../../cluster/images.ts";
import type { AgentOptions } from "../../cluster/node.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { builtBundle } from "../../support/built-program.ts";
import { lastingPod, NO_FAULTS, NODE, SurvivalWorld, variedPod } from "../../support/survival-world.ts";

/** The commit before the restructuring of the allocation, the executor, the wiring and the volumes. */
const EARLIER = "b656062";
const PODS = 6;
const GRACE_SECONDS = 20;
/** Beyond the grace period: the end of the agent, the start of the next one, and the removal of the pod. */
const REMOVAL_MS = 15_000;
const IGNORES_SIGTERM = ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"];

/** Admission, sandbox, and for each container its image and its start. */
const ENTRIES_OF_A_START = 4;

suite(`an agent of commit ${EARLIER} and today's on one node`, () => {
  let world: SurvivalWorld;
  let earlier: AgentOptions;

  before(async () => {
    const commit = commitNamed(EARLIER) ?? assert.fail(`the repository lacks commit ${EARLIER}`);
    const { node, bundle } = buildCommit(commit);
    earlier = { deckhand: [...node, bundle] };
    world = await SurvivalWorld.start(variedPod, earlier);
    for (let made = 0; made < PODS; made += 1) await world.create();
    await world.settled();
  });

  after(async () => {
    await world.down();
  });

  /** A pod that lasts for its grace period, deleted just before the agent is replaced. */
  async function terminatesAcross(options: AgentOptions | undefined): Promise<void> {
    world.podOf = (name) =>
      lastingPod(name, {
        terminationGracePeriodSeconds: GRACE_SECONDS,
        containers: [{ name: "app", image: BUSYBOX_IMAGE, command: IGNORES_SIGTERM }],
      });
    const pod = await world.create();
    world.podOf = variedPod;
    await world.settled();
    await world.delete(pod);
    const deletedMs = performance.now();
    await world.cluster.changeAgent(NODE, "deckhand", options);
    await waitUntil(
      "the pod to be removed",
      GRACE_SECONDS * 1_000 + REMOVAL_MS,
      async () => !(await world.pods()).some(({ metadata }) => metadata?.uid === pod.uid),
    );
    const tookMs = performance.now() - deletedMs;
    assert.ok(tookMs >= (GRACE_SECONDS - 1) * 1_000, `removed after ${tookMs} ms, before its grace period ended`);
  }

  /** The time of each entry in today's agent's explanation of the pod. */
  async function timelineMs(name: string): Promise<readonly number[]> {
    const node = world.cluster.nodes[0] ?? assert.fail("the cluster has a node");
    const command = ["explain", "pod", `default/${name}`, "--output", "json"];
    const { stdout } = await node.run(process.execPath, await builtBundle(), ...command);
    const { timeline } = JSON.parse(stdout) as { readonly timeline: readonly { readonly at: string }[] };
    return timeline.map(({ at }) => Date.parse(at));
  }

  test("today's agent continues what the earlier one began, and explains it", async () => {
    const switchedMs = Date.now();
    await terminatesAcross(undefined);
    const [leaving, staying] = world.wanted;
    if (leaving !== undefined) await world.delete(leaving);
    await world.create();
    await world.settled();
    assert.deepEqual(await world.faults(), NO_FAULTS);
    const before = (await timelineMs(staying?.name ?? "")).filter((atMs) => atMs < switchedMs);
    assert.ok(before.length >= ENTRIES_OF_A_START, `${before.length} entries by the earlier agent`);
  });

  test("the earlier agent continues what today's began", async () => {
    await terminatesAcross(earlier);
    await world.create();
    await world.settled();
    assert.deepEqual(await world.faults(), NO_FAULTS);
  });
});

/** Preemption by a critical pod, and rejection of a pod that does not tolerate a taint, under each agent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "../../../src/api/gen/core-v1.ts";
import { nodes } from "../../../src/api/resources.ts";
import { parseQuantity, quantityMilliValue } from "../../../src/base/quantity.ts";
import { waitUntil } from "../../cluster/wait.ts";
import type { Recording } from "../../golden/recording.ts";
import { deckhandTest, type Side } from "../../golden/sides.ts";
import { hasFailedWhole, isRunning, podOn, SLEEPER, sh } from "../../support/cluster-pods.ts";
import type { World } from "../ordinary-differential/case.ts";
import { neutral } from "../ordinary-differential/neutral.ts";

const forever = new AbortController().signal;

/**
 * Exits with 3 on SIGTERM. When the container exits with 0, the Go kubelet 1.36.4 forgets why the pod ended and
 * publishes Succeeded.
 */
const ENDS_BADLY = sh("trap 'exit 3' TERM; while :; do sleep 1000 & wait; done");

export function pushedOut(world: () => World, recording: Recording): void {
  const nodeOf = (side: Side): Promise<Node> =>
    world().pods.api.get(nodes, { name: world().place(side).node }, forever);
  const asking = (side: Side, name: string, milliCpu: bigint, priorityClassName?: string): Pod =>
    podOn(world().place(side).node, `${name}-${world().place(side).node}`, {
      containers: [{ ...ENDS_BADLY, resources: { requests: { cpu: `${milliCpu}m` } } }],
      ...(priorityClassName === undefined ? {} : { priorityClassName }),
    });
  const neutrally = async (side: Side, pod: Pod, value: unknown) =>
    neutral(value, { pod, place: world().place(side), facts: await world().facts(side) });
  const eventsOf = async (name: string, reason: string) =>
    (await world().pods.eventsOf(name)).filter((event) => event.reason === reason);

  test("[5.5] a pod preempted for a critical pod gets the same status, condition and event, and the critical pod runs", async () => {
    const { pods } = world();
    await recording.check("preempted pod", async (side) => {
      const { status } = await nodeOf(side);
      const milliCpu = quantityMilliValue(parseQuantity(status?.allocatable?.["cpu"] ?? "0"));
      const weak = asking(side, "weak", milliCpu - 100n);
      const kept = asking(side, "kept", 50n);
      for (const pod of [weak, kept]) await pods.create(pod);
      for (const pod of [weak, kept]) await pods.running(pod.metadata?.name ?? "");
      const strong = asking(side, "strong", 200n, "system-node-critical");
      await pods.create(strong);
      const name = weak.metadata?.name ?? "";
      const ended = await pods.first(name, "ended", hasFailedWhole);
      await pods.first(strong.metadata?.name ?? "", "ran", isRunning);
      assert.ok(isRunning(pods.latest(kept.metadata?.name ?? "") ?? {}), "the other goes on");
      await waitUntil("the event", 10_000, async () => (await eventsOf(name, "Preempting")).length > 0);
      const reported = (await eventsOf(name, "Preempting")).map(({ type, message, count }) => [type, message, count]);
      for (const pod of [weak, kept, strong]) await pods.delete(pod.metadata?.name ?? "", 1);
      for (const pod of [weak, kept, strong]) await pods.gone(pod.metadata?.name ?? "");
      const { phase, reason, message, conditions, containerStatuses } = ended.status ?? {};
      const states = containerStatuses?.map(({ state, ready }) => ({ state, ready }));
      const byType = (conditions ?? []).toSorted((a, b) => (a.type < b.type ? -1 : 1));
      const written = await neutrally(side, ended, { phase, reason, message, conditions: byType, states });
      assert.deepEqual(reported, [["Warning", "Preempted in order to admit critical pod", 1]]);
      assert.match(
        JSON.stringify(written),
        /"DisruptionTarget".*"TerminationByKubelet"|"TerminationByKubelet".*"DisruptionTarget"/,
      );
      return { events: reported, status: written };
    });
  });

  deckhandTest("[5.5] a preempted pod whose container exits with 0 is Failed", async () => {
    const { pods } = world();
    const milliCpu = quantityMilliValue(parseQuantity((await nodeOf("deckhand")).status?.allocatable?.["cpu"] ?? "0"));
    const weak = asking("deckhand", "polite", milliCpu - 100n);
    const polite = { ...weak, spec: { containers: [], ...weak.spec } };
    const name = weak.metadata?.name ?? "";
    await pods.create({
      ...polite,
      spec: { ...polite.spec, containers: polite.spec.containers.map((one) => ({ ...one, command: SLEEPER.command })) },
    });
    await pods.running(name);
    const strong = asking("deckhand", "stronger", 200n, "system-node-critical");
    await pods.create(strong);
    const { status } = await pods.first(name, "ended", ({ status: at }) => at?.phase === "Failed");
    assert.deepEqual([status?.reason, status?.containerStatuses?.[0]?.state?.terminated?.exitCode], ["Preempting", 0]);
    await pods.running(strong.metadata?.name ?? "");
    for (const one of [name, strong.metadata?.name ?? ""]) await pods.delete(one, 1);
    for (const one of [name, strong.metadata?.name ?? ""]) await pods.gone(one);
  });

  test("[5.3] a pod that does not tolerate a NoExecute taint is rejected with the same event", async () => {
    const { pods } = world();
    const taint = (side: Side, taints: readonly object[] | null) =>
      pods.api.patch(
        nodes,
        { name: world().place(side).node },
        { kind: "merge", body: { spec: { taints } } },
        {},
        forever,
      );
    await recording.check("pod that does not tolerate a taint", async (side) => {
      await taint(side, [{ key: "maintenance", effect: "NoExecute" }]);
      try {
        const pod = asking(side, "tainted", 1n);
        const name = pod.metadata?.name ?? "";
        await waitUntil("the agent to hear of it", 30_000, async () => {
          await pods.create(pod).catch(() => undefined);
          const isReported = (await eventsOf(name, "TaintToleration")).length > 0;
          if (!isReported) await pods.delete(name, 0);
          return isReported;
        });
        const reported = (await eventsOf(name, "TaintToleration")).map(({ type, message }) => [type, message]);
        await pods.delete(name, 0);
        assert.deepEqual(reported[0], [
          "Warning",
          "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
        ]);
        return reported[0];
      } finally {
        await taint(side, null);
      }
    });
  });
}

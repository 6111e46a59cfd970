/** A container that must not run twice, and whose agent dies before it has published the container's termination. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import type { Component } from "../../cluster/cluster.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import { sh } from "../../support/cluster-pods.ts";
import { answered, podUidOfCall, runsOf } from "../../support/cri-log.ts";
import { withRuntime } from "../../support/node-runtime.ts";
import { runPod, uidOf, type World } from "./world.ts";

const RUNS_MS = 4_000;
const signal = new AbortController().signal;

/** What happens to the dead container while no agent runs. */
type Meanwhile = "nothing" | "containerRemoved" | "allRemoved";

export function neverAgain(world: () => World): void {
  const runs = (pod: Pod) => runsOf(world().proxy.calls, uidOf(pod)).length;
  const containersOf = (pod: Pod) =>
    withRuntime(world().node, (runtime) =>
      runtime.listContainers({ labels: { "io.kubernetes.pod.uid": uidOf(pod) } }, signal),
    );
  const hasEnded = async (pod: Pod) => (await containersOf(pod)).every(({ state }) => state === "exited");

  async function removeWhatIsDead(pod: Pod, meanwhile: Meanwhile): Promise<void> {
    if (meanwhile === "nothing") return;
    for (const { id } of await containersOf(pod))
      await withRuntime(world().node, (runtime) => runtime.removeContainer(id, signal));
    if (meanwhile === "containerRemoved") return;
    const labels = { "io.kubernetes.pod.uid": uidOf(pod) };
    for (const { id } of await withRuntime(world().node, (runtime) => runtime.listSandboxes({ labels }, signal))) {
      await withRuntime(world().node, (runtime) => runtime.stopSandbox(id, signal));
      await withRuntime(world().node, (runtime) => runtime.removeSandbox(id, signal));
    }
  }

  /** The container ends while `held` is paused; then the agent is killed and restarted, and `held` resumes. */
  async function dies(name: string, held: Component, agent: Component, meanwhile: Meanwhile): Promise<Pod> {
    const spec = { restartPolicy: "Never", containers: [sh(`sleep ${RUNS_MS / 1000}; exit 7`)] };
    const pod = await runPod(world(), name, spec);
    await held.pause();
    try {
      await waitUntil("the container to end", 20_000, () => hasEnded(pod), 100);
      // Long enough for an agent that is not paused to observe and journal the termination.
      await pause(1_000);
      await agent.kill();
      await removeWhatIsDead(pod, meanwhile);
    } finally {
      if (held !== agent) await held.resume();
    }
    await agent.restart();
    return world().pods.first(name, "failed", ({ status }) => status?.phase === "Failed");
  }

  void suite("a container that must not run twice, whose agent is killed before its end is published", () => {
    for (const meanwhile of ["nothing", "containerRemoved", "allRemoved"] as const) {
      test(`[7.2][7.10][27.4.3] an observed termination keeps its exit code, with the dead container meanwhile: ${meanwhile}`, async () => {
        const { cluster, node } = world();
        const agent = cluster.component(`kubelet@${node.name}`);
        const name = `never-${meanwhile.toLowerCase()}`;
        const pod = await dies(name, cluster.component("kube-apiserver"), agent, meanwhile);
        assert.equal(pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 7);
        await pause(3_000);
        assert.equal(runs(pod), 1);
        const sandboxes = answered(world().proxy.calls, "RunPodSandbox").map(podUidOfCall);
        assert.equal(sandboxes.filter((uid) => uid === uidOf(pod)).length, 1, "no second sandbox");
      });
    }

    test("[7.19] an unobserved termination of a removed container is ContainerStatusUnknown, and the container does not run again", async () => {
      const { cluster, node } = world();
      const agent = cluster.component(`kubelet@${node.name}`);
      const pod = await dies("never-unseen", agent, agent, "containerRemoved");
      const terminated = pod.status?.containerStatuses?.[0]?.state?.terminated;
      assert.equal(terminated?.exitCode, 137);
      assert.equal(terminated?.reason, "ContainerStatusUnknown");
      assert.equal(terminated?.message, "The container could not be located when the pod was terminated");
      await pause(3_000);
      assert.equal(runs(pod), 1);
    });
  });
}

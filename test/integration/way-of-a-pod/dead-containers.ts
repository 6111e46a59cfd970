/** The flags that limit dead containers, on an agent that is started with them. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { suite, test } from "node:test";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { sh } from "../../support/cluster-pods.ts";
import { onMachine, podLogDirectoryOf } from "../../support/node-files.ts";
import { withRuntime } from "../../support/node-runtime.ts";
import { makePod, uidOf, type World } from "./world.ts";

const signal = new AbortController().signal;

export function deadContainers(world: () => World): void {
  const deadOf = async (pod: Pod): Promise<readonly number[]> => {
    const labels = { "io.kubernetes.pod.uid": uidOf(pod) };
    const all = await withRuntime(world().node, (runtime) => runtime.listContainers({ labels }, signal));
    return all
      .filter(({ state }) => state === "exited")
      .map(({ metadata }) => metadata.attempt)
      .toSorted((a, b) => a - b);
  };
  const changeAgent = (...flags: readonly string[]) =>
    world().cluster.changeAgent(world().node.name, "deckhand", {
      // Restarts follow within a second.
      configuration: { crashLoopBackOff: { maxContainerRestartPeriod: "1s" } },
      flags,
    });

  void suite("an agent with limits of dead containers", () => {
    test("[19.10] keeps two dead instances of a container, and their logs", async () => {
      await changeAgent("--maximum-dead-containers-per-container=2");
      // The fifth run stays.
      const run = sh(
        "n=$(cat /data/n 2>/dev/null || echo 0); echo $((n + 1)) > /data/n; [ $n -lt 4 ] || exec sleep 1000",
      );
      await makePod(world(), "limited", {
        restartPolicy: "Always",
        containers: [{ ...run, volumeMounts: [{ name: "data", mountPath: "/data" }] }],
        volumes: [{ name: "data", emptyDir: {} }],
      });
      const isFifth = ({ status }: Pod) => status?.containerStatuses?.[0]?.restartCount === 4;
      const pod = await world().pods.first("limited", "was run a fifth time", isFifth, 90_000);
      const directory = onMachine(world().node, `${podLogDirectoryOf(pod)}/main`);
      await waitUntil("the earlier runs to go", 30_000, async () => (await deadOf(pod)).length === 2);
      assert.deepEqual(await deadOf(pod), [2, 3]);
      await waitUntil("their logs to go", 30_000, async () => (await readdir(directory)).length === 3);
      assert.deepEqual((await readdir(directory)).toSorted(), ["2.log", "3.log", "4.log"]);
    });

    test("[19.10] with a limit for the node, the last containers of completed pods go within a round", async () => {
      const { pods } = world();
      const done = await makePod(world(), "limited-done", { restartPolicy: "Never", containers: [sh("exit 3")] });
      await pods.first("limited-done", "failed", ({ status }) => status?.phase === "Failed");
      assert.deepEqual(await deadOf(done), [0]);
      await changeAgent("--maximum-dead-containers=0");
      await waitUntil("its container to go", 90_000, async () => (await deadOf(done)).length === 0);
      const running = pods.latest("limited") ?? assert.fail();
      await waitUntil(
        "dead instances beside a running one to go",
        90_000,
        async () => (await deadOf(running)).length === 0,
      );
      const statusOf = (name: string) => pods.latest(name)?.status?.containerStatuses?.[0];
      assert.equal(statusOf("limited-done")?.state?.terminated?.exitCode, 3);
      assert.equal(statusOf("limited")?.lastState?.terminated?.exitCode, 0);
    });
  });
}

/** How pods terminate, proven from the API server's audit log and from the calls that the runtime received. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { cgroupsLeft, makeCgroup } from "../../cluster/cgroups.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import { type Audited, nodeUser, requestsBy } from "../../support/audit-log.ts";
import { SLEEPER, sh } from "../../support/cluster-pods.ts";
import { podCgroupOf } from "../../support/node-files.ts";
import { callsAbout, runPod, uidOf, type World } from "./world.ts";

/** Ignores SIGTERM; only SIGKILL ends it. */
const STUBBORN = sh("trap '' TERM; while :; do sleep 1; done");

const isTerminal = ({ requestObject }: Audited): boolean => {
  const { status } = requestObject as { readonly status?: { readonly phase?: string } };
  return status?.phase === "Succeeded" || status?.phase === "Failed";
};

const stopTimeouts = (world: World, pod: Pod): readonly number[] =>
  callsAbout(world, pod, "StopContainer").map(({ request }) =>
    Number((request as { readonly timeout: bigint }).timeout),
  );

export function endings(world: () => World): void {
  void suite("how pods terminate", () => {
    test("[6.5][6.6][11.3] containers stop first, then the sandbox; then the last status is published, and only then the object is deleted", async () => {
      const { pods, cluster, node } = world();
      const pod = await runPod(world(), "ends", { containers: [SLEEPER, { ...SLEEPER, name: "second" }] });
      await pods.delete("ends");
      await pods.gone("ends");
      assert.deepEqual(await cgroupsLeft(podCgroupOf(node, pod)), []);
      const stops = callsAbout(world(), pod, "StopContainer");
      assert.deepEqual(new Set(stops.map(({ id }) => id)).size, 2);
      const sandboxStop = callsAbout(world(), pod, "StopPodSandbox")[0] ?? assert.fail("the sandbox was stopped");
      const requests = (await requestsBy(cluster, nodeUser(node.name))).filter(({ name }) => name === "ends");
      const last = requests.find((one) => one.verb === "patch" && isTerminal(one)) ?? assert.fail("no terminal phase");
      const removal = requests.find(({ verb }) => verb === "delete") ?? assert.fail("no DELETE by the node");
      const { gracePeriodSeconds, preconditions } = removal.requestObject as {
        readonly gracePeriodSeconds?: number;
        readonly preconditions?: unknown;
      };
      assert.deepEqual(
        { gracePeriodSeconds, preconditions },
        { gracePeriodSeconds: 0, preconditions: { uid: uidOf(pod) } },
      );
      for (const { endedWallMs } of stops) assert.ok((endedWallMs ?? Infinity) <= sandboxStop.startedWallMs);
      assert.ok((sandboxStop.endedWallMs ?? Infinity) <= last.receivedMs + 1);
      assert.ok(last.answeredMs <= removal.receivedMs);
      assert.equal(requests.filter(({ verb }) => verb === "delete").length, 1);
    });

    test("[6.6] the object stays as long as the pod's cgroup cannot be removed", async () => {
      const { pods, cluster, node } = world();
      const pod = await runPod(world(), "held", { containers: [SLEEPER] });
      const stray = await frozenIn(podCgroupOf(node, pod), `${cluster.layout.cgroupParent}/frozen`);
      try {
        await pods.delete("held");
        await pods.first("held", "ended", ({ status }) => status?.phase === "Succeeded");
        await pause(2_000);
        assert.ok(pods.latest("held") !== undefined, "the object is gone before the cgroup");
        assert.ok((await cgroupsLeft(podCgroupOf(node, pod))).length > 0);
      } finally {
        await stray.thaw();
      }
      await pods.gone("held");
      assert.deepEqual(await cgroupsLeft(podCgroupOf(node, pod)), []);
    });

    test("[6.4][7.14] a grace period that is shortened during termination takes effect, with a minimum of two seconds", async () => {
      const { pods } = world();
      const pod = await runPod(world(), "shortened", { terminationGracePeriodSeconds: 300, containers: [STUBBORN] });
      await pods.delete("shortened");
      await waitUntil("the containers to be told", 10_000, async () => stopTimeouts(world(), pod).length > 0);
      await pods.delete("shortened", 1);
      await pods.gone("shortened", 30_000);
      const [first = 0, ...rest] = stopTimeouts(world(), pod);
      assert.ok(first > 290 && first <= 300, String(first));
      assert.deepEqual([...new Set(rest)], [2]);
      assert.equal(callsAbout(world(), pod, "StartContainer").length, 1);
    });

    test("[7.14] a terminated container keeps its exit code, and its pod has the event Stopping container", async () => {
      const { pods } = world();
      await runPod(world(), "told", { containers: [SLEEPER] });
      await pods.delete("told");
      const ended = ({ status }: Pod) => status?.phase === "Succeeded";
      const last = await pods.first("told", "ended", ended);
      assert.equal(last.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 0);
      await pods.gone("told");
      await waitUntil("the event", 10_000, async () =>
        (await pods.eventsOf("told")).some(({ message }) => message === "Stopping container main"),
      );
    });

    test("[6.7] a force-deleted pod is removed at once, and its containers soon after", async () => {
      const { pods, node } = world();
      const pod = await runPod(world(), "forced", { terminationGracePeriodSeconds: 300, containers: [STUBBORN] });
      await pods.delete("forced", 0);
      await pods.gone("forced", 5_000);
      const stopped = async () => callsAbout(world(), pod, "StopPodSandbox").some(({ code }) => code === 0);
      await waitUntil("its sandbox to be stopped", 30_000, stopped);
      assert.ok(stopTimeouts(world(), pod).every((seconds) => seconds === 2));
      await waitUntil("its cgroup to go", 30_000, async () => (await cgroupsLeft(podCgroupOf(node, pod))).length === 0);
    });

    test("[6.1] a pod deleted during CreateContainer terminates without StartContainer", async () => {
      const { pods, proxy } = world();
      const created = Promise.withResolvers<void>();
      const unhook = proxy.hook("CreateContainer", { after: () => created.promise });
      const before = proxy.calls.length;
      try {
        await world().pods.create({
          metadata: { name: "cancelled", namespace: "default" },
          spec: { nodeName: world().node.name, automountServiceAccountToken: false, containers: [SLEEPER] },
        });
        const isAsked = async () => proxy.calls.slice(before).some(({ method }) => method === "CreateContainer");
        await waitUntil("the container to be made", 20_000, isAsked);
        await pods.delete("cancelled", 5);
        await pods.first("cancelled", "was deleted", ({ metadata }) => metadata?.deletionTimestamp !== undefined);
        await pause(500);
      } finally {
        unhook();
        created.resolve();
      }
      await pods.gone("cancelled");
      assert.ok(!proxy.calls.slice(before).some(({ method }) => method === "StartContainer"));
    });
  });
}

/** A process in this cgroup that cannot be killed before it is thawed, so that the cgroup cannot be removed. */
async function frozenIn(group: string, freezer: string) {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  const procs = (controller: string, path: string) => join("/sys/fs/cgroup", controller, path, "cgroup.procs");
  const state = join("/sys/fs/cgroup/freezer", freezer, "freezer.state");
  await makeCgroup(freezer);
  await writeFile(procs("freezer", freezer), String(child.pid));
  await writeFile(procs("pids", group), String(child.pid));
  await writeFile(state, "FROZEN");
  return {
    async thaw() {
      await writeFile(state, "THAWED");
      child.kill("SIGKILL");
    },
  };
}

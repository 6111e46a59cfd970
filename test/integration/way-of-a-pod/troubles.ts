/**
 * Pods with problems: failing runtime calls, no pod network, lost containers, an exceeded deadline, and a sandbox of no
 * known pod.
 */
import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { pods as resource } from "../../../src/api/resources.ts";
import type { StatusResponse } from "../../../src/wire/cri/gen/api_pb.js";
import { waitUntil } from "../../cluster/wait.ts";
import { isRunning, SLEEPER } from "../../support/cluster-pods.ts";
import { answered, podUidOfCall, runsOf } from "../../support/cri-log.ts";
import { withRuntime } from "../../support/node-runtime.ts";
import { makePod, runPod, uidOf, type World } from "./world.ts";

const { signal } = new AbortController();
/** The gRPC status code of "unknown". */
const UNKNOWN = 2;

/** The RPCs of 27.3.11, and GetContainerEvents, which Deckhand always calls. */
const RPCS: ReadonlySet<string> = new Set(
  `Version Status RuntimeConfig UpdateRuntimeConfig RunPodSandbox StopPodSandbox RemovePodSandbox ListPodSandbox PodSandboxStatus
  CreateContainer StartContainer StopContainer RemoveContainer ListContainers ContainerStatus UpdateContainerResources
  UpdatePodSandboxResources ReopenContainerLog ExecSync Exec Attach PortForward ContainerStats ListContainerStats CheckpointContainer
  ListImages ImageStatus PullImage RemoveImage ImageFsInfo GetContainerEvents`.split(/\s+/),
);

const nameIn = (request: unknown): string | undefined => {
  type Named = { readonly metadata?: { readonly name?: string } };
  const { config, sandboxConfig } = request as { readonly config?: Named; readonly sandboxConfig?: Named };
  return (sandboxConfig ?? config)?.metadata?.name;
};

const statusIn = (pod: Pod, name = "main") => pod.status?.containerStatuses?.find((status) => status.name === name);

export function troubles(world: () => World): void {
  const reportOf = (pod: string, reason: string, type: string, message: RegExp) =>
    waitUntil(`${pod} to have the event ${reason}`, 20_000, async () =>
      (await world().pods.eventsOf(pod)).some(
        (event) => event.reason === reason && event.type === type && message.test(event.message ?? ""),
      ),
    );

  void suite("pods with problems", () => {
    // Each of these mostly waits, and none affects another.
    void suite("side by side", { concurrency: true }, () => {
      test("[7.1][6.3] a failed sandbox creation is reported, and retried after 10 to 15 s", async () => {
        const { pods, proxy } = world();
        let refusals = 0;
        const unhook = proxy.hook("RunPodSandbox", {
          before: (request) => {
            if (nameIn(request) !== "refused" || refusals > 0) return;
            refusals += 1;
            throw { code: UNKNOWN, details: "no room for a sandbox" };
          },
        });
        try {
          await makePod(world(), "refused", { containers: [SLEEPER] });
          await reportOf(
            "refused",
            "FailedCreatePodSandBox",
            "Warning",
            /^Failed to create pod sandbox: .*no room for a sandbox/,
          );
          const pod = await pods.running("refused");
          const tries = proxy.calls.filter(
            (call) => call.method === "RunPodSandbox" && podUidOfCall(call) === uidOf(pod),
          );
          const [first, second] = tries.map(({ startedWallMs }) => startedWallMs);
          const waitedMs = (second ?? 0) - (first ?? 0);
          assert.equal(tries.length, 2);
          assert.ok(waitedMs >= 10_000 && waitedMs <= 16_000, `${waitedMs} ms`);
        } finally {
          unhook();
        }
      });

      test("[7.18] a container waits with the reason of the failed call, and starts once the calls succeed", async () => {
        const { pods, proxy } = world();
        const refuse = (which: (request: unknown) => boolean) => ({
          before: (request: unknown) => {
            if (which(request)) throw { code: UNKNOWN, details: "not today" };
          },
        });
        const containerIn = (request: unknown) =>
          (request as { readonly config?: { readonly metadata?: { readonly name?: string } } }).config?.metadata?.name;
        const unstarted = () =>
          new Set(
            answered(proxy.calls, "CreateContainer")
              .filter(({ request }) => containerIn(request) === "unstarted")
              .map(({ answer }) => (answer as { readonly containerId: string }).containerId),
          );
        const image = "docker.io/library/busybox:1.36";
        const unhooks = [
          proxy.hook(
            "ImageStatus",
            refuse((request) => JSON.stringify(request).includes(image)),
          ),
          proxy.hook(
            "CreateContainer",
            refuse((request) => containerIn(request) === "uncreated"),
          ),
          proxy.hook(
            "StartContainer",
            refuse((request) => unstarted().has((request as { readonly containerId: string }).containerId)),
          ),
        ];
        try {
          const containers = ["uninspected", "uncreated", "unstarted"].map((name) => ({ ...SLEEPER, name }));
          await makePod(world(), "hindered", {
            containers: containers.map((one) => (one.name === "uninspected" ? { ...one, image } : one)),
          });
          const waits = (reason: string) => (pod: Pod) =>
            pod.status?.containerStatuses?.some(({ state }) => state?.waiting?.reason === reason) === true;
          const reasonOf = async (name: string, reason: string) => {
            const pod = await pods.first("hindered", `waited with ${reason}`, waits(reason), 30_000);
            const waiting = statusIn(pod, name)?.state?.waiting;
            assert.equal(waiting?.reason, reason);
            assert.match(waiting?.message ?? "", /not today/);
          };
          await reasonOf("uninspected", "ImageInspectError");
          await reasonOf("uncreated", "CreateContainerError");
          await reasonOf("unstarted", "RunContainerError");
          await reportOf("hindered", "Failed", "Warning", /^Error: .*not today/);
        } finally {
          for (const unhook of unhooks) unhook();
        }
        await pods.running("hindered", 40_000);
      });

      test("[6.10] a pod exceeding activeDeadlineSeconds fails, also when the deadline is set later", async () => {
        const { pods } = world();
        await makePod(world(), "overdue", { activeDeadlineSeconds: 3, containers: [SLEEPER] });
        await runPod(world(), "hurried", { activeDeadlineSeconds: 3600, containers: [SLEEPER] });
        const body = { spec: { activeDeadlineSeconds: 1 } };
        await pods.api.patch(
          resource,
          { name: "hurried", namespace: "default" },
          { kind: "strategic", body },
          {},
          signal,
        );
        for (const name of ["overdue", "hurried"]) {
          const { status } = await pods.first(name, "failed", (pod) => pod.status?.phase === "Failed", 20_000);
          const words = "Pod was active on the node longer than the specified deadline";
          assert.deepEqual([status?.reason, status?.message], ["DeadlineExceeded", words]);
          assert.ok(status?.containerStatuses?.[0]?.state?.terminated !== undefined);
          await reportOf(name, "DeadlineExceeded", "Normal", new RegExp(`^${words}$`));
        }
        const early = pods.versions("overdue").filter(({ pod }) => pod.status?.phase !== "Failed");
        assert.ok(
          early.every(({ pod }) => pod.status?.reason === undefined),
          "the reason comes with the phase",
        );
      });
    });

    test("[6.2] without a network only hostNetwork pods start; others report NetworkNotReady and start once it is ready", async () => {
      const { pods, proxy, node } = world();
      const file = join(node.directory, "cni", "10-bridge.conflist");
      const isReady = async (wanted: boolean) => {
        const last = answered(proxy.calls, "Status").at(-1)?.answer as StatusResponse | undefined;
        return last?.status?.conditions.find(({ type }) => type === "NetworkReady")?.status === wanted;
      };
      await rename(file, `${file}.away`);
      try {
        await waitUntil("the network to be away", 30_000, () => isReady(false));
        const pod = await makePod(world(), "netless", { containers: [SLEEPER] });
        await runPod(world(), "on-the-nodes", { hostNetwork: true, containers: [SLEEPER] });
        const message =
          /^network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:/;
        await reportOf("netless", "NetworkNotReady", "Warning", message);
        assert.ok(!proxy.calls.some((call) => call.method === "RunPodSandbox" && podUidOfCall(call) === uidOf(pod)));
      } finally {
        await rename(`${file}.away`, file);
      }
      await pods.running("netless", 30_000);
    });

    test("[7.5][7.19] a vanished container is reported as ContainerStatusUnknown, and its next run continues the log numbers", async () => {
      const { cluster, node, pods, proxy } = world();
      const agent = cluster.component(`kubelet@${node.name}`);
      const before = await runPod(world(), "vanished", { containers: [SLEEPER] });
      await agent.kill();
      const labels = { "io.kubernetes.pod.uid": uidOf(before) };
      await withRuntime(world().node, async (runtime) => {
        for (const { id } of await runtime.listSandboxes({ labels }, signal)) {
          await runtime.stopSandbox(id, signal);
          await runtime.removeSandbox(id, signal);
        }
        assert.deepEqual(await runtime.listContainers({ labels }, signal), []);
      });
      await agent.restart();
      const isAgain = (pod: Pod) => isRunning(pod) && statusIn(pod)?.restartCount === 1;
      const now = await pods.first("vanished", "ran again", isAgain);
      const { exitCode, reason, message } = statusIn(now)?.lastState?.terminated ?? {};
      assert.deepEqual(
        [exitCode, reason, message],
        [
          137,
          "ContainerStatusUnknown",
          "The container could not be located when the pod was deleted.  The container used to be Running",
        ],
      );
      const runs = runsOf(proxy.calls, uidOf(before));
      assert.deepEqual(
        runs.map(({ attempt }) => attempt),
        [0, 1],
      );
      const logs = await node.run("ls", `/var/log/pods/default_vanished_${uidOf(before)}/main`);
      assert.deepEqual(logs.stdout.trim().split("\n"), ["0.log", "1.log"]);
    });

    test("[27.3.9] a sandbox created outside the agent, without labels, is stopped and removed", async () => {
      const { node, proxy } = world();
      const uid = "5b0c9f5e-0000-4000-8000-00000000beef";
      const cgroupParent = `${node.cgroupParent}/kubepods/besteffort/pod${uid}`;
      const metadata = { name: "unknown", namespace: "nowhere", uid, attempt: 0 };
      const namespaces = { network: "node", pid: "container", ipc: "pod" } as const;
      const id = await withRuntime(world().node, (runtime) =>
        runtime.runSandbox({ metadata, cgroupParent, security: { namespaces } }, "", signal),
      );
      const isStopped = async () => answered(proxy.calls, "StopPodSandbox").some((call) => call.id === id);
      await waitUntil("the unknown sandbox to be stopped", 10_000, isStopped);
      const isGone = async () =>
        (await withRuntime(world().node, (runtime) => runtime.listSandboxes({}, signal))).every((one) => one.id !== id);
      await waitUntil("the unknown sandbox to be gone", 60_000, isGone);
    });

    test("[27.3.11] only RPCs that a kubelet sends were sent to the runtime", () => {
      const asked = new Set(world().proxy.calls.map(({ method }) => method));
      assert.deepEqual(
        [...asked].filter((method) => !RPCS.has(method)),
        [],
      );
      assert.ok(asked.size >= 15, [...asked].join(" "));
    });
  });
}

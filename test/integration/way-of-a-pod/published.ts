/** What Deckhand publishes of a pod to the API server, field by field. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { pods as resource } from "../../../src/api/resources.ts";
import type { RunPodSandboxRequest } from "../../../src/wire/cri/gen/api_pb.js";
import { waitUntil } from "../../cluster/wait.ts";
import { nodeUser, requestsBy } from "../../support/audit-log.ts";
import { BUSYBOX, conditionOf, isRunning, podOn, SLEEPER, sh } from "../../support/cluster-pods.ts";
import { answered, podUidOfCall, runsOf } from "../../support/cri-log.ts";
import { withRuntime } from "../../support/node-runtime.ts";
import { makePod, runPod, uidOf, type World } from "./world.ts";

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const OWNED = ["ContainersReady", "Initialized", "PodReadyToStartContainers", "PodScheduled", "Ready"];

const FOR_OTHER_SYSTEMS = [
  [
    "other-field",
    { os: { name: "windows" } },
    {},
    "PodOSNotSupported",
    "Failed to admit pod as the OS field doesn't match node OS",
  ],
  [
    "other-label",
    {},
    { "kubernetes.io/os": "windows" },
    "PodOSSelectorNodeLabelDoesNotMatch",
    "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
  ],
] as const;

export function published(world: () => World): void {
  void suite("what is published of a pod", () => {
    const requests = { cpu: "10m", memory: "16Mi" };
    const limits = { cpu: "200m", memory: "64Mi" };
    let pod: Pod;

    test("[7.25][11.10] a container's status holds id, image, times, user and resources, sorted by name", async () => {
      const containers = ["z", "a"].map((name) => ({ ...SLEEPER, name, resources: { requests, limits } }));
      pod = await runPod(world(), "fields", { containers });
      const statuses = pod.status?.containerStatuses ?? [];
      assert.deepEqual(
        statuses.map(({ name }) => name),
        ["a", "z"],
      );
      for (const status of statuses) {
        assert.match(status.containerID ?? "", /^containerd:\/\/[0-9a-f]{64}$/);
        assert.match(status.imageID, /^(?:\S+@)?sha256:[0-9a-f]{64}$/);
        assert.match(status.state?.running?.startedAt ?? "", RFC3339);
        const { containerID: _id, imageID: _image, image, state: _state, name: _name, ...rest } = status;
        assert.ok(image.includes("busybox"), image);
        assert.deepEqual(rest, {
          lastState: {},
          ready: true,
          started: true,
          restartCount: 0,
          allocatedResources: requests,
          resources: { requests, limits },
          user: { linux: { uid: 0, gid: 0, supplementalGroups: [0] } },
        });
      }
    });

    test("[11.4][11.7] the kubelet publishes five conditions, each with its observedGeneration", () => {
      const conditions = pod.status?.conditions ?? [];
      assert.deepEqual(conditions.map(({ type }) => type).toSorted(), OWNED);
      for (const { type, status, observedGeneration, lastTransitionTime } of conditions) {
        assert.equal(status, "True", type);
        assert.equal(observedGeneration, pod.metadata?.generation, type);
        assert.match(lastTransitionTime ?? "", RFC3339);
      }
      assert.equal(pod.status?.observedGeneration, pod.metadata?.generation);
    });

    test("[11.5] before the pod runs the conditions name its unready containers, and a transition time changes only with its status", () => {
      const seen = world()
        .pods.versions("fields")
        .filter(({ kind, pod: at }) => kind !== "deleted" && conditionOf(at, "Ready") !== undefined);
      const first = seen[0]?.pod ?? assert.fail("a version before it ran was seen");
      for (const type of ["Ready", "ContainersReady"]) {
        const { status, reason, message } = conditionOf(first, type) ?? assert.fail(type);
        assert.deepEqual(
          { status, reason, message },
          { status: "False", reason: "ContainersNotReady", message: "containers with unready status: [z a]" },
        );
      }
      for (const type of OWNED) {
        for (const [index, { pod: at }] of seen.entries()) {
          const [before, now] = [seen[index - 1], conditionOf(at, type)].map((one) =>
            one !== undefined && "pod" in one ? conditionOf(one.pod, type) : one,
          );
          if (before === undefined || before.status !== now?.status) continue;
          assert.equal(now?.lastTransitionTime, before.lastTransitionTime, type);
        }
      }
    });

    test("[11.8][11.9] addresses, QoS class and start time are published, and the start time stays", () => {
      const { node, pods } = world();
      const { status } = pod;
      assert.ok(status?.podIP?.startsWith(node.podRange.replace(/0\/24$/, "")), String(status?.podIP));
      assert.deepEqual(status?.podIPs, [{ ip: status?.podIP }]);
      assert.equal(status?.hostIP, node.address);
      assert.deepEqual(status?.hostIPs, [{ ip: node.address }]);
      assert.equal(status?.qosClass, "Burstable");
      assert.match(status?.startTime ?? "", RFC3339);
      const times = new Set(pods.versions("fields").map((version) => version.pod.status?.startTime));
      times.delete(undefined);
      assert.equal(times.size, 1);
    });

    test("[4.2][27.3.2] the sandbox has the annotations config.source and config.seen, and the pod in the API server has neither", () => {
      const call = answered(world().proxy.calls, "RunPodSandbox").find((one) => podUidOfCall(one) === uidOf(pod));
      const { "kubernetes.io/config.seen": seen = "", ...rest } =
        (call?.request as RunPodSandboxRequest | undefined)?.config?.annotations ?? {};
      assert.deepEqual(rest, { "kubernetes.io/config.source": "api" });
      assert.match(seen, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/);
      assert.deepEqual(world().pods.latest("fields")?.metadata?.annotations, undefined);
    });

    test("[7.6][10.2] containers start in the order of the spec, and within 500 ms of the last start the agent queries this pod alone", () => {
      const { proxy } = world();
      const runs = runsOf(proxy.calls, uidOf(pod));
      assert.deepEqual(
        runs.map(({ container }) => container),
        ["z", "a"],
      );
      const looks = proxy.calls.filter(({ method, request, id }) => {
        const { filter } = request as { readonly filter?: { readonly labelSelector?: Record<string, string> } };
        const isOfPod = filter?.labelSelector?.["io.kubernetes.pod.uid"] === uidOf(pod);
        return (method === "ListContainers" && isOfPod) || (method === "ContainerStatus" && id === runs.at(-1)?.id);
      });
      const lastStart = answered(proxy.calls, "StartContainer").find(({ id }) => id === runs.at(-1)?.id);
      const endedMs = lastStart?.endedWallMs ?? assert.fail("it was started");
      const next = looks.find(({ startedWallMs }) => startedWallMs >= endedMs) ?? assert.fail("nobody looked");
      assert.ok(next.startedWallMs - endedMs < 500, `${next.startedWallMs - endedMs} ms later`);
    });

    test("[10.3] runtime events report a container's termination: no full list is read before the container runs again", async () => {
      const { pods, proxy } = world();
      const streams = proxy.calls.filter(({ method }) => method === "GetContainerEvents");
      assert.ok(
        streams.some(({ endedWallMs }) => endedWallMs === undefined),
        "a stream of events is open",
      );
      await makePod(world(), "ends-once", {
        containers: [sh("test -e /dev/shm/ran || { touch /dev/shm/ran; sleep 1; exit 1; }; exec sleep 1000")],
      });
      const isAgain = ({ status }: Pod) => status?.containerStatuses?.[0]?.restartCount === 1;
      const again = await pods.first("ends-once", "ran again", isAgain);
      const [first, second] = runsOf(proxy.calls, uidOf(again));
      const [endedMs, startedMs] = [first?.finishedWallMs ?? Number.NaN, second?.startedWallMs ?? Number.NaN];
      const lists = proxy.calls.filter(({ method, request, startedWallMs }) => {
        const { filter } = request as { readonly filter?: { readonly labelSelector?: Record<string, string> } };
        const isWhole = Object.keys(filter?.labelSelector ?? {}).length === 0;
        return method === "ListContainers" && isWhole && startedWallMs >= endedMs && startedWallMs <= startedMs;
      });
      assert.deepEqual(lists, []);
      // Without events, the agent lists the runtime every second.
      assert.ok(startedMs - endedMs < 1_000, `${startedMs - endedMs} ms from its end to its next start`);
    });

    test("[7.6][11.4] PodReadyToStartContainers is published while the image is still being pulled", async () => {
      const { pods, proxy } = world();
      const pulled = Promise.withResolvers<void>();
      const unhook = proxy.hook("PullImage", { before: () => pulled.promise });
      try {
        const image = { ...SLEEPER, imagePullPolicy: "Always", image: BUSYBOX };
        await makePod(world(), "pulled", { containers: [image] });
        const isReported = (at: Pod) => conditionOf(at, "PodReadyToStartContainers")?.status === "True";
        const early = await pods.first("pulled", "had a sandbox", isReported);
        assert.equal(early.status?.phase, "Pending");
        assert.equal(early.status?.containerStatuses?.[0]?.state?.waiting?.reason, "ContainerCreating");
      } finally {
        unhook();
        pulled.resolve();
      }
      await pods.running("pulled");
    });

    test("[11.2] the node sends no GET of a pod before a patch, and every patch is bound to the UID", async () => {
      const { cluster, node } = world();
      const requests = (await requestsBy(cluster, nodeUser(node.name))).filter(({ resource }) => resource === "pods");
      assert.deepEqual(
        requests.filter(({ verb }) => verb === "get"),
        [],
      );
      const patches = requests.filter(({ verb, subresource }) => verb === "patch" && subresource === "status");
      assert.ok(patches.length >= 2);
      const ofPod = patches.filter(({ name }) => name === "fields");
      assert.ok(ofPod.length > 0);
      for (const { requestObject } of ofPod) {
        const { metadata } = requestObject as { readonly metadata?: unknown };
        assert.deepEqual(metadata, { uid: uidOf(pod) });
      }
    });

    test("[11.2] another client's change of a field that the kubelet owns is reverted", async () => {
      const { pods: client } = world();
      const { status: before } = await runPod(world(), "meddled", { containers: [SLEEPER] });
      const [reported = assert.fail("it has a container")] = before?.containerStatuses ?? [];
      const wrong = { type: "Ready", status: "False", reason: "Meddling" };
      const body = {
        status: { conditions: [wrong], containerStatuses: [{ ...reported, ready: false, restartCount: 9 }] },
      };
      const name = { name: "meddled", namespace: "default" };
      const { signal } = new AbortController();
      const meddled = await client.api.patch(
        resource,
        name,
        { kind: "strategic", body },
        { subresource: "status" },
        signal,
      );
      assert.equal(conditionOf(meddled, "Ready")?.reason, "Meddling");
      const isAfter = ({ metadata }: Pod) =>
        Number(metadata?.resourceVersion) > Number(meddled.metadata?.resourceVersion);
      const right = await client.first("meddled", "was put right", (at) => isAfter(at) && isRunning(at), 10_000);
      assert.equal(conditionOf(right, "Ready")?.reason, undefined);
      assert.deepEqual(right.status?.containerStatuses, [reported]);
    });

    test("[11.6] a pod with a readiness gate is Ready once its containers are ready and the gate is True", async () => {
      const { pods: client } = world();
      await makePod(world(), "gated", { readinessGates: [{ conditionType: "a.test/open" }], containers: [SLEEPER] });
      const waits = (at: Pod) => conditionOf(at, "Ready")?.reason === "ReadinessGatesNotReady";
      const waiting = await client.first("gated", "waited at its gate", waits);
      assert.equal(conditionOf(waiting, "ContainersReady")?.status, "True");
      assert.equal(
        conditionOf(waiting, "Ready")?.message,
        'corresponding condition of pod readiness gate "a.test/open" does not exist.',
      );
      const body = { status: { conditions: [{ type: "a.test/open", status: "True" }] } };
      const name = { name: "gated", namespace: "default" };
      const { signal } = new AbortController();
      await client.api.patch(resource, name, { kind: "strategic", body }, { subresource: "status" }, signal);
      await client.running("gated", 10_000);
    });

    test("[11.11] a condition that another client wrote survives", async () => {
      const { pods: client } = world();
      await makePod(world(), "foreign", { containers: [SLEEPER] });
      await client.running("foreign");
      const signal = new AbortController().signal;
      const foreign = { type: "example.com/Gate", status: "True", reason: "Because" };
      const body = { status: { conditions: [foreign] } };
      const name = { name: "foreign", namespace: "default" };
      await client.api.patch(resource, name, { kind: "strategic", body }, { subresource: "status" }, signal);
      await client.delete("foreign");
      const isLast = (at: Pod) => at.status?.phase === "Succeeded" || at.status?.phase === "Failed";
      const last = await client.first("foreign", "ended", isLast);
      assert.equal(conditionOf(last, "example.com/Gate")?.reason, "Because");
      await client.gone("foreign");
    });

    test("[7.4] a changed image restarts a running container with the new image", async () => {
      const { pods: client } = world();
      const before = await runPod(world(), "changed", { containers: [SLEEPER] });
      const image = "docker.io/library/busybox:1.36";
      const body = { spec: { containers: [{ name: "main", image }] } };
      const name = { name: "changed", namespace: "default" };
      await client.api.patch(resource, name, { kind: "strategic", body }, {}, new AbortController().signal);
      const isNew = (at: Pod) =>
        at.status?.containerStatuses?.[0]?.restartCount === 1 && conditionOf(at, "Ready")?.status === "True";
      const now = await client.first("changed", "ran with the new image", isNew);
      assert.equal(now.status?.podIP, before.status?.podIP);
      const events = (await client.eventsOf("changed")).map(({ reason, message }) => `${reason} ${message}`);
      assert.ok(events.includes("Killing Container main definition changed, will be restarted"), events.join("\n"));
    });

    test("[7.2] a dead sandbox is replaced by its next attempt, in which the containers run again", async () => {
      const { pods: client, node, proxy } = world();
      const before = await runPod(world(), "sandbox", { containers: [SLEEPER] });
      const { signal } = new AbortController();
      const labels = { "io.kubernetes.pod.uid": uidOf(before) };
      await withRuntime(node, async (runtime) => {
        const [sandbox] = await runtime.listSandboxes({ labels }, signal);
        assert.ok(sandbox !== undefined);
        // The agent, too, stops a sandbox that died. The runtime tears down its network for the first caller and fails
        // the other.
        await waitUntil("its sandbox to be stopped", 30_000, async () => {
          await runtime.stopSandbox(sandbox.id, signal);
          return true;
        });
      });
      // The container dies first, and may be restarted once more in a sandbox that is about to be removed.
      const restarts = (at: Pod) => at.status?.containerStatuses?.[0]?.restartCount ?? 0;
      const isNew = (at: Pod) => restarts(at) > 0 && isRunning(at) && at.status?.podIP !== before.status?.podIP;
      await client.first("sandbox", "ran in a new sandbox", isNew);
      const attempts = answered(proxy.calls, "RunPodSandbox")
        .filter((call) => podUidOfCall(call) === uidOf(before))
        .map(({ request }) => (request as RunPodSandboxRequest).config?.metadata?.attempt);
      assert.deepEqual(attempts, [0, 1]);
      const reported = "SandboxChanged Pod sandbox changed, it will be killed and re-created.";
      await waitUntil("the event", 10_000, async () =>
        (await client.eventsOf("sandbox")).some(({ reason, message }) => `${reason} ${message}` === reported),
      );
    });

    test("[5.1] a pod with an unsupported volume is rejected with the field's name, and nothing of it runs", async () => {
      const { pods: client, node, proxy } = world();
      const volumes = [{ name: "v", nfs: { server: "198.18.255.1", path: "/" } }];
      const spec = { containers: [sh("sleep 1000")], volumes };
      await client.create(podOn(node.name, "volume", spec));
      const rejected = await client.first("volume", "was rejected", ({ status }) => status?.phase === "Failed");
      assert.equal(rejected.status?.reason, "NotSupported");
      assert.match(rejected.status?.message ?? "", /spec\.volumes\[0\]\.nfs/);
      const events = await client.eventsOf("volume");
      assert.ok(events.some(({ reason, message }) => reason === "NotSupported" && message?.includes("spec.volumes")));
      assert.ok(!proxy.calls.some((call) => podUidOfCall(call) === uidOf(rejected)));
      await client.delete("volume");
      await client.gone("volume");
    });

    for (const [name, spec, labels, reason, message] of FOR_OTHER_SYSTEMS) {
      test(`[5.4] a pod for another operating system is rejected with the reason ${reason}`, async () => {
        const { pods: client, node, proxy } = world();
        const pod = podOn(node.name, name, { containers: [sh("sleep 1000")], ...spec });
        await client.create({ ...pod, metadata: { ...pod.metadata, labels } });
        const rejected = await client.first(name, "was rejected", (at) => at.status?.phase === "Failed");
        const { status } = rejected;
        assert.deepEqual([status?.reason, status?.message], [reason, `Pod was rejected: ${message}`]);
        assert.ok((await client.eventsOf(name)).some((event) => event.reason === reason && event.message === message));
        assert.ok(!proxy.calls.some((call) => podUidOfCall(call) === uidOf(rejected)));
        await client.delete(name);
        await client.gone(name);
      });
    }

    test("[5.3] a host port serves one pod at a time, and another once that pod is deleted", async () => {
      const { pods: client, node } = world();
      const wantsPort = (name: string) =>
        podOn(node.name, name, {
          containers: [{ ...sh("sleep 1000"), ports: [{ containerPort: 80, hostPort: 18_080 }] }],
        });
      await client.create(wantsPort("has-port"));
      await client.first("has-port", "runs", isRunning);
      await client.create(wantsPort("no-port"));
      const { status } = await client.first("no-port", "was rejected", (at) => at.status?.phase === "Failed");
      assert.deepEqual(
        [status?.reason, status?.message],
        [
          "NodePorts",
          "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        ],
      );
      for (const name of ["has-port", "no-port"]) await client.delete(name);
      for (const name of ["has-port", "no-port"]) await client.gone(name);
      await client.create(wantsPort("next-port"));
      await client.first("next-port", "runs", isRunning);
      await client.delete("next-port");
      await client.gone("next-port");
    });

    test("[23.1] kubectl describe node shows the events of the Node, which carry its UID", async () => {
      const { cluster, node } = world();
      const uid = await cluster.kubectl("get", "node", node.name, "-o", "jsonpath={.metadata.uid}");
      const uids = await cluster.kubectl(
        "get",
        "events",
        "--namespace=default",
        "--field-selector=involvedObject.kind=Node,source=kubelet",
        "--output=jsonpath={range .items[*]}{.reason}={.involvedObject.uid} {end}",
      );
      assert.ok(uids.includes(`Starting=${uid} `), uids);
      // Another test has deleted the Node: earlier events carry the UID that it had.
      assert.ok(!/= /.test(uids), uids);
      assert.match(await cluster.kubectl("describe", "node", node.name), /^ +Normal +Starting /m);
    });
  });
}

/**
 * Two nodes, one with the Go kubelet and one with Deckhand, send spans of the same pod's life to one collector. The
 * spans, their attributes and their parents must be the same. The runtimes also send spans, but only for calls whose
 * trace context comes from their agents.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { ClusterPods, podOn, SLEEPER } from "../support/cluster-pods.ts";
import { NodeCaller } from "../support/node-caller.ts";
import { type CollectedSpan, startTraceCollector, type TraceCollector } from "../support/trace-collector.ts";

let directory: string;
let socket: string;
let collector: TraceCollector;
let cluster: Cluster;
let pods: ClusterPods;
let theirs: ClusterNode;
let ours: ClusterNode;

/** No node has the image before a pod pulls it. */
const IMAGE = "registry.k8s.io/deckhand/served-7:1";
const podName = ({ name }: ClusterNode) => `traced-${name}`;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "traces-"));
  socket = join(directory, "collector.sock");
  collector = await startTraceCollector(`unix://${socket}`);
  const tracing = { endpoint: `unix://${socket}`, samplingRatePerMillion: 1_000_000 };
  const runtimeEnv = {
    // The exporter joins host and path of the address, which makes this "unix:/...".
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://unix:${socket}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_TRACES_SAMPLER: "parentbased_always_off",
    OTEL_SERVICE_NAME: "containerd",
  };
  cluster = await startCluster({
    controlPlane: "full",
    nodes: (["go", "deckhand"] as const).map((agent) => ({
      agent,
      options: { configuration: { tracing } },
      runtimeEnv,
    })),
  });
  [theirs, ours] = cluster.nodes as [ClusterNode, ClusterNode];
  pods = await ClusterPods.of(cluster);
  await Promise.all(cluster.nodes.map((node) => lifeOf(node)));
});

after(async () => {
  await pods.close();
  await cluster.down();
  collector.close();
  await rm(directory, { recursive: true });
});

/** Creates a pod, waits until it runs, deletes it, and waits for its last span. */
async function lifeOf(node: ClusterNode): Promise<void> {
  const pod = podName(node);
  await pods.create(podOn(node.name, pod, { containers: [{ ...SLEEPER, image: IMAGE }] }));
  await cluster.kubectl("wait", "--for=condition=Ready", `pod/${pod}`, "--timeout=90s");
  await cluster.kubectl("delete", "pod", pod, "--timeout=60s");
  await waitUntil(
    `the termination of ${pod} to be traced`,
    60_000,
    async () => step(node, "syncTerminatedPod") !== undefined,
  );
}

const of = (node: ClusterNode): readonly CollectedSpan[] =>
  collector.spans.filter(({ resource }) => resource["host.name"] === node.name);

const step = (node: ClusterNode, name: string, pod = podName(node)): CollectedSpan | undefined =>
  of(node).find((span) => span.name === name && span.attributes["k8s.pod.name"] === pod);

const parentOf = ({ traceId, parentId }: CollectedSpan): CollectedSpan | undefined =>
  collector.spans.find((span) => span.traceId === traceId && span.spanId === parentId);

const childrenOf = ({ traceId, spanId }: CollectedSpan): readonly CollectedSpan[] =>
  collector.spans.filter((span) => span.traceId === traceId && span.parentId === spanId);

/** What must be the same on both nodes: everything but ids, times and names of the node. */
function alike(span: CollectedSpan | undefined, node: ClusterNode): unknown {
  assert.ok(span !== undefined, `${node.name} (${node.agent}) reported it`);
  const { name, kind, attributes, failure, parentIsRemote } = span;
  const parent = parentOf(span)?.name;
  const events = span.events.map((event) => ({ ...event, attributes: withoutSizes(event.attributes) }));
  const written = JSON.stringify({ name, kind, attributes, failure, parentIsRemote, parent, events })
    .replaceAll(String(attributes["k8s.pod.uid"]), "(uid)")
    .replaceAll(podName(node), "(pod)")
    .replaceAll(node.containerdSocket, "(socket)");
  return JSON.parse(written) as unknown;
}

/** Message sizes differ between the agents; both must report them. */
const withoutSizes = (attributes: CollectedSpan["attributes"]): object =>
  Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [key, key.endsWith("_size") ? typeof value : value]),
  );

/**
 * A call to the runtime for this pod. The pod's image may be pulled in one sync, and its container started in the next.
 */
function callOf(node: ClusterNode, name: string, within: string): CollectedSpan | undefined {
  const calls = of(node).filter((span) => span.name === name && span.kind === "CLIENT");
  return calls.find((call) => {
    const around = parentOf(call);
    return around?.name === within && around.attributes["k8s.pod.name"] === podName(node);
  });
}

const CALLS = [
  ["RuntimeService/RunPodSandbox", "syncPod"],
  ["ImageService/PullImage", "syncPod"],
  ["RuntimeService/CreateContainer", "syncPod"],
  ["RuntimeService/StartContainer", "syncPod"],
  ["RuntimeService/StopContainer", "syncTerminatingPod"],
  ["RuntimeService/StopPodSandbox", "syncTerminatingPod"],
] as const;

void suite("tracing", () => {
  for (const name of ["syncPod", "syncTerminatingPod", "syncTerminatedPod"]) {
    test(`[22.3] ${name} span equals the Go kubelet's`, () => {
      const [a, b] = [step(ours, name), step(theirs, name)];
      assert.deepEqual(alike(a, ours), alike(b, theirs));
      assert.deepEqual([a?.scope, a?.parentId, b?.parentId], [b?.scope, "", ""]);
      assert.deepEqual(a?.resource, { "service.name": "kubelet", "host.name": ours.name });
      assert.deepEqual(b?.resource, { "service.name": "kubelet", "host.name": theirs.name });
    });
  }

  for (const [call, within] of CALLS) {
    test(`[22.3] ${call} is a client span within ${within}, and containerd's server span is its child`, async () => {
      for (const node of [ours, theirs]) {
        await waitUntil(`${call} of ${node.agent}`, 30_000, async () => {
          const span = callOf(node, `runtime.v1.${call}`, within);
          return span !== undefined && childrenOf(span).length > 0;
        });
      }
      const [a, b] = [ours, theirs].map((node) => callOf(node, `runtime.v1.${call}`, within));
      assert.deepEqual(alike(a, ours), alike(b, theirs));
      assert.ok(a !== undefined);
      const [heard] = childrenOf(a);
      assert.deepEqual(
        [heard?.resource["service.name"], heard?.name, heard?.kind, heard?.parentIsRemote],
        ["containerd", a.name, "SERVER", true],
      );
      assert.ok(a.startNs <= a.endNs && a.startNs >= (parentOf(a)?.startNs ?? a.endNs));
    });
  }

  test("[22.3] removal of dead containers is a trace with the calls that remove them", async () => {
    const uid = step(ours, "syncPod")?.attributes["k8s.pod.uid"];
    const removal = () =>
      of(ours).find((span) => span.name === "Containers/GarbageCollect" && span.attributes["k8s.pod.uid"] === uid);
    await waitUntil("the removal to be told", 30_000, async () => removal() !== undefined);
    const span = removal() ?? assert.fail();
    assert.deepEqual(
      [span.kind, span.parentId, span.scope],
      ["INTERNAL", "", "k8s.io/kubernetes/pkg/kubelet/kuberuntime"],
    );
    const calls = childrenOf(span).map(({ name }) => name);
    for (const call of ["RemoveContainer", "RemovePodSandbox"])
      assert.ok(calls.includes(`runtime.v1.RuntimeService/${call}`), calls.join(" "));
  });

  test("[22.3] requests to the API server are separate client spans with the Go kubelet's attributes", async () => {
    const patches = [ours, theirs].map((node) =>
      of(node).find(
        ({ name, attributes }) =>
          name === "HTTP PATCH" && String(attributes["url.full"]).endsWith(`/pods/${podName(node)}/status`),
      ),
    );
    const [a, b] = patches.map((span, index) => {
      assert.ok(span !== undefined, `node ${index} reported it`);
      // Deckhand uses HTTP/2 and reports it.
      const { "url.full": url, "network.protocol.version": _, ...attributes } = span.attributes;
      const path = String(url).replaceAll(/traced-n\d/g, "(pod)");
      return { name: span.name, kind: span.kind, parentId: span.parentId, attributes, path };
    });
    assert.deepEqual(a, b);
    assert.equal(a?.attributes["http.response.status_code"], 200);
  });

  test("[22.3] a request with a traceparent continues its trace under Deckhand; the Go kubelet starts a new trace", async () => {
    const trace = { ours: "4bf92f3577b34da6a3ce929d0e0e4736", theirs: "5bf92f3577b34da6a3ce929d0e0e4737" };
    const { adminCertFile, adminKeyFile } = cluster.api;
    const identity = {
      certificatePem: await readFile(adminCertFile, "utf8"),
      keyPem: await readFile(adminKeyFile, "utf8"),
    };
    for (const [node, id] of [
      [ours, trace.ours],
      [theirs, trace.theirs],
    ] as const) {
      using caller = new NodeCaller({ host: node.address, port: 10250, identity });
      const headers = { traceparent: `00-${id}-00f067aa0ba902b7-01`, "user-agent": "traced" };
      const { status } = await caller.ask("/metrics/resource", "GET", headers);
      assert.equal(status, 200);
    }
    const served = (node: ClusterNode) =>
      of(node).find(({ kind, attributes }) => kind === "SERVER" && attributes["user_agent.original"] === "traced");
    await waitUntil("both to tell of it", 30_000, async () =>
      [ours, theirs].every((node) => served(node) !== undefined),
    );
    const [a, b] = [served(ours), served(theirs)];
    assert.ok(a !== undefined && b !== undefined);
    const { "network.peer.port": ourPeer, ...attributes } = a.attributes;
    const { "network.peer.port": theirPeer, ...wanted } = b.attributes;
    assert.deepEqual([typeof ourPeer, typeof theirPeer], ["number", "number"]);
    assert.deepEqual(attributes, wanted);
    assert.deepEqual([a.traceId, a.parentId, a.parentIsRemote], [trace.ours, "00f067aa0ba902b7", true]);
    assert.notEqual(b.traceId, trace.theirs);
    // The Go kubelet gives no span name to what it serves outside its routes; the attribute has the path.
    assert.deepEqual([a.name, b.name, b.attributes["http.route"]], ["/metrics/resource", "", "/metrics/resource"]);
  });

  test("[22.3] while the collector is down pods run, and their spans are sent once it is back", async () => {
    collector.close();
    const pod = "untold";
    await pods.create(podOn(ours.name, pod, { containers: [SLEEPER] }));
    await cluster.kubectl("wait", "--for=condition=Ready", `pod/${pod}`, "--timeout=90s");
    const log = cluster.component(`kubelet@${ours.name}`).logFile;
    await waitUntil("a line in its log", 30_000, async () =>
      (await readFile(log, "utf8")).includes("Failed to send traces"),
    );
    const before = collector.spans;
    collector = await startTraceCollector(`unix://${socket}`);
    assert.ok(!before.some(({ attributes }) => attributes["k8s.pod.name"] === pod));
    await waitUntil(
      "what was kept",
      60_000,
      async () => step(ours, "syncPod", pod)?.attributes["k8s.pod.update_type"] === "create",
    );
  });

  test("[22.3] an agent that shuts down sends the remaining spans first", async () => {
    const component = cluster.component(`kubelet@${ours.name}`);
    await cluster.kubectl("delete", "pod", "untold", "--timeout=60s");
    await component.end();
    await waitUntil("the last of it", 30_000, async () => step(ours, "syncTerminatedPod", "untold") !== undefined);
  });
});

/**
 * Removal of unused images on a Deckhand node: `deckhand gc plan`, typed as in the documents, names what the agent's
 * next run then removes from containerd, and the images of pods stay.
 */
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import type { ImageGcReport } from "../../src/domain/images/image-gc-report.ts";
import { connectCri } from "../../src/wire/cri/client.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { inRepository } from "../../tools/repository.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { builtBundle } from "../support/built-program.ts";
import { ClusterPods, podOn, SLEEPER } from "../support/cluster-pods.ts";

/** The command lines of the document. */
const LINES = readFileSync(inRepository("docs/garbage-collection.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("deckhand gc "));
const [PLAN = "", PLAN_JSON = ""] = LINES;
const LIMIT_MS = 60_000;
const forever = new AbortController().signal;
/** Every disk is too full for these thresholds. The first run removes the images that the harness has loaded. */
const OPTIONS = {
  configuration: { imageGCHighThresholdPercent: 1, imageGCLowThresholdPercent: 0 },
  flags: ["--deckhand-image-gc-keep=*/deckhand/served-3", "--minimum-image-ttl-duration=0s"],
};

let cluster: Cluster;
let node: ClusterNode;
let pods: ClusterPods;

const type = async (line: string) => node.run(process.execPath, await builtBundle(), ...line.split(" ").slice(1));
const plan = async (): Promise<ImageGcReport> => {
  const { stdout, stderr, code } = await type(PLAN_JSON);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as ImageGcReport;
};
const imageOf = (index: number): string => `${cluster.registry.open}/deckhand/served-${index}:1`;
const isRunning = ({ status }: { readonly status?: { readonly phase?: string } }) => status?.phase === "Running";

async function imagesOnNode(): Promise<readonly string[]> {
  const options = { endpoint: node.criEndpoint, onMalformed: (detail: string) => assert.fail(detail) };
  const cri = connectCri(options, hostClock);
  try {
    return (await cri.images.listImages({}, forever)).map(({ id }) => id).toSorted();
  } finally {
    cri.close();
  }
}

before(async () => {
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand", options: OPTIONS }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  pods = await ClusterPods.of(cluster);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

void suite("removal of unused images", () => {
  test("[9.10] [27.3.11] the plan names what the agent's next run removes from the runtime; images of pods, pinned images and kept ones stay", async () => {
    assert.equal(LINES.length, 2);
    const podOf = (name: string, index: number) =>
      podOn(node.name, name, { containers: [{ ...SLEEPER, image: imageOf(index) }] });
    for (const index of [1, 2, 3]) await pods.create(podOf(`pod-${index}`, index));
    for (const index of [1, 2, 3]) await pods.first(`pod-${index}`, "running", isRunning);
    for (const index of [1, 3]) await cluster.kubectl("delete", "pod", `pod-${index}`);

    const reasonOf = ({ keep, delete: deleted }: ImageGcReport, index: number) =>
      [...keep, ...deleted].find(({ names }) => names.some((name) => name.includes(`served-${index}:`)))?.reason;
    let report = await plan();
    await waitUntil("the images of deleted pods to be unused", LIMIT_MS, async () => {
      report = await plan();
      return reasonOf(report, 1) === "space" && reasonOf(report, 3) === "rule";
    });
    assert.equal(reasonOf(report, 2), "used");
    assert.ok(report.keep.some(({ reason }) => reason === "pinned"));
    assert.equal(report.state, "on");
    const text = await type(PLAN);
    assert.match(text.stdout, /^Image filesystem \/var\/lib\/containerd\S*: \d+% of [\d.]+ [GT]iB used\.\n/);
    assert.match(text.stdout, /\/deckhand\/served-1:1 +[\d.]+ \wi?B +unused for .*, its space is needed\n/);
    const socket = node.inside("/var/lib/kubelet/deckhand/control.sock");
    assert.equal(statSync(socket).mode & 0o777, 0o600);

    // A run follows the start at once.
    await cluster.changeAgent(node.name, "deckhand", OPTIONS);
    const left = report.keep.map(({ id }) => id).toSorted();
    await waitUntil(
      "the planned images to be removed",
      LIMIT_MS,
      async () => (await imagesOnNode()).length <= left.length,
    );
    assert.deepEqual(await imagesOnNode(), left);
    const metrics = await cluster.kubectl("get", "--raw", `/api/v1/nodes/${node.name}/proxy/metrics`);
    assert.match(
      metrics,
      new RegExp(`^kubelet_image_garbage_collected_total{reason="space"} ${report.delete.length}$`, "m"),
    );
    assert.ok(isRunning(pods.latest("pod-2") ?? {}));
    const container = { ...SLEEPER, image: imageOf(3), imagePullPolicy: "Never" };
    await pods.create(podOn(node.name, "kept", { containers: [container] }));
    await pods.first("kept", "running without a pull", isRunning);
  });

  test("[9.10] the Node's event says that images cannot free enough space", async () => {
    const events = () =>
      cluster.kubectl("get", "events", "-A", "--field-selector=reason=FreeDiskSpaceFailed", "-o=jsonpath={..message}");
    await waitUntil("the event", LIMIT_MS, async () => (await events()) !== "");
    assert.match(
      await events(),
      /Insufficient free disk space on the node's image filesystem \(\d+% of [\d.]+ [GT]iB used\)/,
    );
  });

  test("[9.10] without an agent the plan says so, also when the agent was killed", async () => {
    await cluster.component(`kubelet@${node.name}`).kill();
    const { stderr, code } = await type(PLAN);
    assert.deepEqual(
      [code, stderr.startsWith("error: no agent runs with the root directory /var/lib/kubelet")],
      [1, true],
    );
    await cluster.component(`kubelet@${node.name}`).restart();
    await waitUntil("the new agent to answer", LIMIT_MS, async () => (await type(PLAN)).code === 0);
  });
});

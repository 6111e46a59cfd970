/** Tests the kubelet's metrics over hours and for rare events. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pods } from "../src/api/resources.ts";
import type { DeleteOptions } from "../src/ports/api-server.ts";
import { RuntimeError } from "../src/ports/runtime-error.ts";
import { keyOf } from "../test/integration/node-metrics/scrape.ts";
import { expositionText, readExposition } from "../test/support/exposition.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { keptKubelet, MANIFESTS } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import type { Fault, PortCall } from "./port-calls.ts";
import { World } from "./world.ts";

const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };
const HOUR_MS = 3_600_000;

function begin(fault: (call: PortCall) => Fault | undefined = () => undefined, ...flags: readonly string[]) {
  const world = new World({ seed: 1, plan: fault, latencyMs: () => 2 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  const { agent, newest } = keptKubelet(...flags);
  const start = () => node.start(agent);
  start();
  const collect = () => readExposition(expositionText(newest().metrics.registry.collect(), "text"));
  const remove = (name: string, options: DeleteOptions = {}) => {
    const { signal } = new AbortController();
    return world.until(world.user.delete(pods, { name, namespace: "default" }, options, signal));
  };
  return {
    world,
    node,
    start,
    remove,
    collect,
    ...plainPods(world),
    /** Samples of a metric without its buckets, by suffix and labels. */
    figures: (name: string): Readonly<Record<string, number>> => {
      const family = collect().get(name);
      const samples = (family?.samples ?? []).filter((sample) => !sample.name.endsWith("_bucket"));
      return Object.fromEntries(
        samples.map((sample) => [`${sample.name.slice(name.length)}${keyOf(sample.labels)}`, sample.value]),
      );
    },
  };
}

/** A whole day, which takes 35 s of work, has the same number of series. */
const HOURS = 3;

test("[21.6] pods that start, fail and are deleted for hours add no series after the second hour", async () => {
  const { world, create, remove, collect, figures } = begin();
  const sizes: number[] = [];
  for (let hour = 0; hour < HOURS; hour += 1) {
    for (const minute of [0, 30]) {
      const name = `pod-${hour}-${minute}`;
      const exit = { afterMs: 60_000, code: minute === 0 ? 1 : 137 };
      create(name, { command: [...scripted({ ...server, exit })] });
      await world.advance(HOUR_MS / 4);
      await remove(name);
      await world.advance(HOUR_MS / 4);
    }
    sizes.push([...collect().values()].reduce((sum, { samples }) => sum + samples.length, 0));
  }
  const [, early = 0] = sizes;
  assert.ok(early > 300 && (sizes.at(-1) ?? 0) === early, sizes.join());
  assert.deepEqual(figures("kubelet_started_pods_total"), { "": 2 * HOURS });
  const ends = figures("kubelet_terminated_containers_total");
  assert.deepEqual(Object.keys(ends).toSorted(), [
    "container_type=container,exit_code=1,reason=Error",
    "container_type=container,exit_code=137,reason=Error",
  ]);
});

test("[21.7] measures a pod start once, from creation until the start is observed", async () => {
  const { world, create, figures } = begin();
  await world.advance(10_000);
  create("plain", { command: [...scripted(server)] });
  await world.advance(5_000);
  const first = figures("kubelet_pod_start_sli_duration_seconds");
  assert.equal(first["_count"], 1);
  // The API server keeps creation times in whole seconds.
  assert.ok((first["_sum"] ?? 0) > 0 && (first["_sum"] ?? 9) < 2, JSON.stringify(first));
  assert.deepEqual(figures("kubelet_pod_start_total_duration_seconds"), first);
  assert.deepEqual(figures("kubelet_first_network_pod_start_sli_duration_seconds"), { "": first["_sum"] });
  assert.equal(figures("kubelet_pod_start_duration_seconds")["_count"], 1);
  assert.equal(figures("kubelet_pod_worker_start_duration_seconds")["_count"], 1);
  await world.advance(HOUR_MS);
  assert.deepEqual(figures("kubelet_pod_start_sli_duration_seconds"), first);
});

test("[21.7][9.14] a pull counts in the total start duration, but not in the SLI start duration", async () => {
  const { world, create, figures } = begin(undefined, "--serialize-image-pulls=false");
  for (const image of ["slow", "slower"]) world.registry.add(image);
  world.registry.pullMs = ({ path }) => (path.endsWith("slower") ? 20_000 : 15_000);
  await world.advance(10_000);
  const container = { imagePullPolicy: "Always", command: [...scripted(server)] };
  // The pulls run in parallel, so that both together take as long as the slower one.
  create("pulled", {}, { containers: ["slow", "slower"].map((image) => ({ ...container, name: image, image })) });
  await world.advance(60_000);
  const seconds = (which: string) => figures(`kubelet_pod_start_${which}_duration_seconds`)["_sum"] ?? Number.NaN;
  const pulled = seconds("total") - seconds("sli");
  assert.ok(Math.abs(pulled - 20) < 0.1, `${pulled} s`);
  const pulls = figures("kubelet_image_pull_duration_seconds");
  const sum = Object.entries(pulls).find(([key]) => key.startsWith("_sum"))?.[1] ?? 0;
  assert.ok(Math.abs(sum - 35) < 0.1, JSON.stringify(pulls));
});

test("[6.7] counts an orphaned pod once, however long its termination takes", async () => {
  const { world, node, start, create, remove, figures } = begin();
  create("left", { command: [...scripted({ onSignal: {} })] });
  await world.advance(10_000);
  node.crash();
  await remove("left", { gracePeriodSeconds: 0 });
  start();
  await world.advance(60_000);
  assert.deepEqual(figures("kubelet_orphaned_runtime_pods_total"), { "": 1 });
});

test("[6.8] counts a static pod as restarted when its manifest is removed and written again", async () => {
  const { world, node, figures } = begin();
  const manifest = JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "static", namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 5,
      containers: [{ name: "app", image: "busybox", imagePullPolicy: "IfNotPresent", command: [...scripted(server)] }],
    },
  });
  const path = `${MANIFESTS}/static.json`;
  await world.until(node.writeFile(path, manifest));
  await world.advance(30_000);
  assert.deepEqual(figures("kubelet_desired_pods"), { "static=": 0, "static=true": 1 });
  assert.deepEqual(figures("kubelet_mirror_pods"), { "": 1 });
  assert.deepEqual(figures("kubelet_restarted_pods_total"), { "static=": 0, "static=true": 0 });
  await world.until(node.files.port.removeFile(path));
  await world.advance(200);
  await world.until(node.writeFile(path, manifest));
  await world.advance(60_000);
  assert.deepEqual(figures("kubelet_restarted_pods_total"), { "static=": 0, "static=true": 1 });
});

test("[5.1] counts a rejected pod by its reason once, and not again after an agent restart", async () => {
  const { world, node, start, create, figures } = begin();
  create("refused", { volumeDevices: [{ name: "raw", devicePath: "/dev/raw" }] });
  await world.advance(10_000);
  assert.deepEqual(figures("kubelet_admission_rejections_total"), { "reason=Other": 1 });
  assert.deepEqual(figures("kubelet_active_pods"), { "static=": 0, "static=true": 0 });
  node.crash();
  start();
  await world.advance(10_000);
  assert.deepEqual(figures("kubelet_admission_rejections_total"), {});
});

test("[21.6] counts failed operations in addition to attempts", async () => {
  let failures = 2;
  const { world, create, figures } = begin(({ port, name }) => {
    if (port !== "runtime" || name !== "RunPodSandbox" || failures === 0) return undefined;
    failures -= 1;
    return { kind: "fail", effect: "none", error: new RuntimeError("RunPodSandbox", "unknown", "no") };
  });
  create("a", { command: [...scripted(server)] });
  create("b", { image: "nowhere/none" });
  await world.advance(60_000);
  assert.deepEqual(figures("kubelet_started_pods_total"), { "": 4 });
  assert.deepEqual(figures("kubelet_started_pods_errors_total"), { "": 2 });
  assert.deepEqual(figures("kubelet_run_podsandbox_errors_total"), { "runtime_handler=": 2 });
  assert.equal(figures("kubelet_runtime_operations_errors_total")["operation_type=run_podsandbox"], 2);
  const errors = figures("kubelet_started_containers_errors_total");
  assert.ok((errors["code=ErrImagePull,container_type=container"] ?? 0) >= 1, JSON.stringify(errors));
});

test("[10.2][10.4] measures relists and pod inspections, and records the time of the last relist", async () => {
  const { world, create, figures } = begin();
  create("a", { command: [...scripted(server)] });
  await world.advance(10 * 60_000);
  const lists = figures("kubelet_pleg_relist_duration_seconds")["_count"] ?? 0;
  const intervals = figures("kubelet_pleg_relist_interval_seconds");
  assert.ok(lists >= 10 && lists <= 22, String(lists));
  assert.equal(intervals["_count"], lists - 1);
  const seconds = (intervals["_sum"] ?? 0) / (lists - 1);
  assert.ok(seconds >= 25 && seconds <= 61, String(seconds));
  assert.ok((figures("kubelet_pleg_pod_relist_duration_seconds")["_count"] ?? 0) >= 2);
  const lastSeen = figures("kubelet_pleg_last_seen_seconds")[""] ?? 0;
  assert.ok(Math.abs(world.clock.wallMs() / 1000 - lastSeen) <= 61);
});

test("[13.3][21.6] a restarted agent counts the volumes it finds, and no container exits from before its start", async () => {
  const { world, node, start, create, figures } = begin();
  create(
    "a",
    {
      command: [...scripted({ ...server, exit: { afterMs: 1_000, code: 3 } })],
      volumeMounts: [{ name: "v", mountPath: "/v" }],
    },
    { volumes: [{ name: "v", emptyDir: {} }] },
  );
  await world.advance(5_000);
  assert.ok(
    (figures("kubelet_terminated_containers_total")["container_type=container,exit_code=3,reason=Error"] ?? 0) >= 1,
  );
  assert.deepEqual(figures("reconstruct_volume_operations_total"), { "": 0 });
  const mounts = figures("storage_operation_duration_seconds");
  assert.equal(
    mounts["_countmigrated=false,operation_name=volume_mount,status=success,volume_plugin=kubernetes.io/empty-dir"],
    1,
  );
  node.crash();
  start();
  await world.advance(1_000);
  assert.deepEqual(figures("reconstruct_volume_operations_total"), { "": 1 });
  assert.deepEqual(figures("kubelet_terminated_containers_total"), {});
});

test("[6.11] a sweep reports how many ended pods left something behind, and how many could not be cleaned up", async () => {
  const { world, node, figures } = begin();
  await world.advance(40_000);
  const shown = () => [
    figures("kubelet_orphan_pod_cleaned_volumes")[""],
    figures("kubelet_orphan_pod_cleaned_volumes_errors")[""],
  ];
  assert.deepEqual(shown(), [0, 0]);
  await world.until(node.writeFile("/var/lib/kubelet/pods/gone/etc-hosts", "x"));
  await world.until(node.writeFile("/var/lib/kubelet/pods/held/volumes/kubernetes.io~nfs/data/file", "precious"));
  await world.advance(35_000);
  assert.deepEqual(shown(), [2, 1]);
  await world.advance(35_000);
  assert.deepEqual(shown(), [1, 1]);
});

test("[14.2] a runtime that does not report its cgroup driver is reported with the version that will refuse it", async () => {
  const { world, figures } = begin(({ port, name }) =>
    port === "runtime" && name === "RuntimeConfig"
      ? { kind: "fail", effect: "none", error: new RuntimeError("RuntimeConfig", "unimplemented", "what?") }
      : undefined,
  );
  await world.advance(30_000);
  assert.deepEqual(figures("kubelet_cri_losing_support"), { "version=1.37.0": 1 });
});

test("[21.6] measures the steps of a node's first startup", async () => {
  const { world, node, start, figures } = begin();
  await world.advance(60_000);
  const step = (name: string) => figures(`kubelet_node_startup_${name}_seconds`)[""] ?? Number.NaN;
  assert.equal(step("pre_kubelet_duration"), 30);
  const parts = ["pre_kubelet", "pre_registration", "registration", "post_registration"].map((name) =>
    step(`${name}_duration`),
  );
  for (const seconds of parts) assert.ok(seconds >= 0 && seconds <= 30, parts.join());
  const sum = parts.reduce((total, seconds) => total + seconds, 0);
  assert.ok(Math.abs(step("duration") - sum) < 0.001, `${step("duration")} of ${parts.join()}`);
  await world.until(node.stop());
  start();
  await world.advance(60_000);
  assert.equal(step("duration"), 0, "a node that was there says nothing of how long it takes to make one");
});

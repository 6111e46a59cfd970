import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { admittedVerdict } from "../../../test/support/pods.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import type { Family } from "../../base/metrics/family.ts";
import { Registry } from "../../base/metrics/registry.ts";
import type { CertificatePair } from "../identity/certificate-pair.ts";
import { failedToRenew, NO_CERTIFICATE, renewed } from "../identity/certificate-state.ts";
import type { AdmittedPod } from "../pod/admitted-pod.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import type { PodOutcome } from "../pod/pod-outcome.ts";
import { emptyView } from "../pod/runtime-view.ts";
import { growing } from "./buckets.ts";
import { clientCertificateFamilies, servingCertificateFamilies } from "./identity-metrics.ts";
import { imageSizeLabel } from "./image-metrics.ts";
import { activePodCounts, workingPodCounts } from "./pod-gauges.ts";
import { isSeenStarted, isStartAwaited, podStartTimes, SharedTime } from "./pod-start.ts";
import { processFamilies } from "./process-families.ts";
import { queueMetrics } from "./queue-metrics.ts";
import { rejectionLabel } from "./rejection-reason.ts";
import { volumeCounts } from "./volume-gauges.ts";

const admitted = (uid: string, isStatic = false, pod: Pod = {}): AdmittedPod => ({
  uid,
  pod,
  isStatic,
  firstSeenWallMs: 0,
  verdict: admittedVerdict(pod),
});

const rejected = (uid: string): AdmittedPod => ({
  ...admitted(uid),
  verdict: { kind: "rejected", rejection: { reason: "OutOfcpu", message: "" } },
});

const outcome = (uid: string, lifecycle: PodLifecycle): PodOutcome => ({
  uid,
  lifecycle,
  view: emptyView(uid),
  waiting: new Map(),
  resets: new Map(),
  postStartDue: new Set(),
  messages: new Map(),
});

const RUNNING: PodLifecycle = { kind: "running" };
const FINISHED: PodLifecycle = { kind: "finished", why: { kind: "completed" } };
const ORPHAN: PodLifecycle = { kind: "terminating", graceSeconds: 1, sinceMonotonicMs: 0, why: { kind: "orphaned" } };

void describe("pod metrics", () => {
  void test("[21.6] count active pods, without rejected and finished ones and static pods apart", () => {
    const outcomes = new Map([outcome("b", FINISHED), outcome("c", RUNNING)].map((each) => [each.uid, each]));
    const pods = [admitted("a"), admitted("b"), admitted("c", true), rejected("d")];
    assert.deepEqual(
      activePodCounts(pods, (uid) => outcomes.get(uid)),
      [
        [1, ""],
        [1, "true"],
      ],
    );
  });

  void test("[21.6] count pods by worker state, with zero for combinations without pods", () => {
    const wanted = new Map([admitted("a"), admitted("b", true), rejected("d")].map((pod) => [pod.uid, pod]));
    const outcomes = [outcome("a", RUNNING), outcome("b", FINISHED), outcome("c", ORPHAN), outcome("d", FINISHED)];
    const gone = outcome("e", { kind: "terminated", why: { kind: "removed" } });
    const counts = workingPodCounts([...outcomes, gone], (uid) => wanted.get(uid));
    assert.equal(counts.length, 15);
    assert.deepEqual(
      counts
        .filter(([count]) => count > 0)
        .map((each) => each.join())
        .toSorted(),
      ["1,sync,desired,", "1,terminated,desired,true", "1,terminated,orphan,", "1,terminating,runtime_only,unknown"],
    );
  });

  void test("[13.31] count volumes by plugin, desired and mounted", () => {
    const pod: Pod = {
      spec: {
        containers: [{ name: "c", volumeMounts: ["a", "b"].map((name) => ({ name, mountPath: `/${name}` })) }],
        volumes: [
          { name: "a", configMap: { name: "x" } },
          { name: "b", configMap: { name: "y" } },
          { name: "unused", emptyDir: {} },
        ],
      },
    };
    const mounted = {
      kind: "mounted",
      volume: { name: "a", path: "", readOnly: false, selinuxRelabel: false, measured: undefined },
    } as const;
    const state = new Map([["a", mounted]]);
    const counts = volumeCounts(
      [admitted("1", false, pod), admitted("2", false, pod)],
      (uid) => (uid === "2" ? outcome("2", FINISHED) : undefined),
      () => state,
      [{ name: "configmap", sources: ["configMap"], ownsMount: () => false, holdsFiles: true }],
    );
    assert.deepEqual(counts, [
      [2, "kubernetes.io/configmap", "desired_state_of_world"],
      [1, "kubernetes.io/configmap", "actual_state_of_world"],
    ]);
  });
});

void describe("the start latency of a pod", () => {
  const startedAt = "2026-01-01T00:00:05Z";
  const pod = (status: Pod["status"], spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod => ({
    metadata: { creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { containers: [], ...spec },
    ...(status === undefined ? {} : { status }),
  });
  const running = {
    name: "c",
    image: "",
    imageID: "",
    ready: true,
    restartCount: 0,
    state: { running: { startedAt } },
  };
  const waiting = { ...running, state: { waiting: {} } };

  void test("[21.7] ends when the API server shows every container as running", () => {
    assert.equal(isSeenStarted(pod({ containerStatuses: [running] })), true);
    assert.equal(isSeenStarted(pod({ containerStatuses: [running, waiting] })), false);
    assert.equal(isSeenStarted(pod({})), false);
  });

  void test("[21.7] is not measured for pods that have started, ended or could not be scheduled at once", () => {
    assert.equal(isStartAwaited(pod({})), true);
    assert.equal(isStartAwaited(pod({ startTime: startedAt })), false);
    assert.equal(isStartAwaited(pod({ phase: "Failed" })), false);
    assert.equal(isStartAwaited(pod({ conditions: [{ type: "PodScheduled", status: "False" }] })), false);
  });

  void test("[21.7] counts from creation, for the SLI without pulls and init containers and only for stateless pods", () => {
    const init = {
      ...running,
      state: { terminated: { exitCode: 0, startedAt: "2026-01-01T00:00:01Z", finishedAt: "2026-01-01T00:00:03Z" } },
    };
    const nowMs = Date.parse("2026-01-01T00:00:10Z");
    assert.deepEqual(podStartTimes(pod({ initContainerStatuses: [init] }), nowMs, 1500), {
      totalMs: 10_000,
      sliMs: 6500,
    });
    const stateful = pod({}, { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] });
    assert.deepEqual(podStartTimes(stateful, nowMs, 0), { totalMs: 10_000, sliMs: undefined });
    const stateless = pod(
      {},
      {
        volumes: [
          { name: "v", emptyDir: {} },
          { name: "w", projected: {} },
        ],
      },
    );
    assert.equal(podStartTimes(stateless, nowMs, 0).sliMs, 10_000);
  });

  void test("[21.7] subtracts overlapping pulls once", () => {
    const pulls = new SharedTime();
    pulls.begin(0);
    pulls.begin(5);
    pulls.end(10);
    pulls.end(12);
    pulls.end(13);
    pulls.begin(20);
    pulls.end(21);
    assert.equal(pulls.totalMs, 13);
  });
});

void test("[9.14] image sizes map to a few labels", () => {
  const mib = 1024 ** 2;
  assert.deepEqual([0, 1, 10 * mib, 10 * mib + 1, 2 * 1024 * mib, 200 * 1024 * mib].map(imageSizeLabel), [
    "N/A",
    "0-10MB",
    "0-10MB",
    "10MB-100MB",
    "1GB-5GB",
    "GT100GB",
  ]);
});

void test("[5.1] rejection reasons that users can choose share a label", () => {
  assert.deepEqual(["OutOfcpu", "Evicted", "OutOfexample.com/gpu", "NotSupported"].map(rejectionLabel), [
    "OutOfcpu",
    "Evicted",
    "OutOfExtendedResources",
    "Other",
  ]);
});

void test("exponential bucket bounds equal Go's to the last digit", () => {
  assert.deepEqual(growing(10e-9, 10, 5), [1e-8, 1e-7, 1e-6, 9.999999999999999e-6, 9.999999999999999e-5]);
});

void test("[2.7] certificate metrics show the TTL, rotations and renewal errors", () => {
  const facts = { notBeforeWallMs: 0, notAfterWallMs: 71_500 };
  const pair = { facts } as CertificatePair;
  const state = failedToRenew(renewed({ ...NO_CERTIFICATE, pair }, pair, 3_600_000));
  const shown = (families: readonly Family[]) =>
    families.map(({ name, samples: [sample] }) => [name, sample && ("value" in sample ? sample.value : sample.count)]);
  assert.deepEqual(shown(clientCertificateFamilies(NO_CERTIFICATE, 0))[0], [
    "kubelet_certificate_manager_client_ttl_seconds",
    Number.POSITIVE_INFINITY,
  ]);
  assert.deepEqual(shown(clientCertificateFamilies(state, 10_000)), [
    ["kubelet_certificate_manager_client_ttl_seconds", 61],
    ["kubelet_certificate_manager_client_expiration_renew_errors", 1],
  ]);
  assert.deepEqual(shown(servingCertificateFamilies(state, 10_000)), [
    ["kubelet_certificate_manager_server_ttl_seconds", 61],
    ["kubelet_certificate_manager_server_rotation_seconds", 1],
    ["kubelet_server_expiration_renew_errors", 1],
  ]);
});

void test("[21.6] workqueue metrics show depth, unfinished work, durations and retries", () => {
  const registry = new Registry();
  let nowMs = 0;
  const queue = queueMetrics(registry, () => nowMs)("pods");
  queue.woken("a");
  queue.woken("a");
  queue.woken("b");
  nowMs = 2000;
  queue.begun("a");
  nowMs = 5000;
  const figure = (name: string) => {
    const sample = registry.collect().find((family) => family.name === `workqueue_${name}`)?.samples[0];
    return sample && ("value" in sample ? sample.value : [sample.count, sample.sum]);
  };
  assert.deepEqual(
    [
      "adds_total",
      "depth",
      "unfinished_work_seconds",
      "longest_running_processor_seconds",
      "queue_duration_seconds",
      "retries_total",
    ].map(figure),
    [2, 1, 3, 3, [1, 2], 0],
  );
  queue.failed();
  queue.ended("a");
  assert.deepEqual(["unfinished_work_seconds", "work_duration_seconds", "retries_total"].map(figure), [0, [1, 3], 1]);
});

void test("an unlimited process reports 2^64 bytes of maximal virtual memory", () => {
  const loopDelay = { meanSeconds: 0, p99Seconds: 0, maxSeconds: 0 };
  const none = { startWallMs: 0, cpuSeconds: 0, residentBytes: 0, virtualBytes: 0, openFiles: 0, openFilesMax: 0 };
  const rest = {
    receivedBytes: 0,
    transmittedBytes: 0,
    heapUsedBytes: 0,
    heapTotalBytes: 0,
    externalBytes: 0,
    loopDelay,
  };
  const families = processFamilies({ ...none, ...rest, virtualBytesMax: Number.POSITIVE_INFINITY });
  const [sample] = families.find(({ name }) => name === "process_virtual_memory_max_bytes")?.samples ?? [];
  assert.equal(sample && "value" in sample && sample.value, 2 ** 64);
});

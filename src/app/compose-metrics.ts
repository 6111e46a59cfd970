/**
 * Metrics of the kubelet: its port calls are counted, its cells are read on each scrape, and watchers run beside its
 * loops.
 */
import type { Registry } from "../base/metrics/registry.ts";
import type { LatestTable } from "../concurrency/latest-table.ts";
import { instrumentedApi } from "../controllers/metrics/instrumented-api.ts";
import { instrumentedCgroups } from "../controllers/metrics/instrumented-cgroups.ts";
import { instrumentedImages, instrumentedRuntime } from "../controllers/metrics/instrumented-runtime.ts";
import { watchNodeStartup } from "../controllers/metrics/node-startup.ts";
import { watchPodLatencies } from "../controllers/metrics/pod-latencies.ts";
import { VOLUME_PLUGINS } from "../controllers/volumes/plugins/volume-plugins.ts";
import type { KubeletMetrics } from "../domain/metrics/kubelet-metrics.ts";
import {
  activePodCounts,
  containerCounts,
  desiredPodCounts,
  ephemeralContainerCount,
  runningPodCount,
  workingPodCounts,
} from "../domain/metrics/pod-gauges.ts";
import { pendingResizeCounts } from "../domain/metrics/resize-metrics.ts";
import { volumeCounts } from "../domain/metrics/volume-gauges.ts";
import { type PodName, podLog } from "./logging/pod-log.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { GATES } from "./options/feature-gate-table.ts";
import { ARCHITECTURE, KUBERNETES_VERSION } from "./version.ts";
import type { Cells, KubeletPorts, Loop, Wiring } from "./wiring.ts";

/** Counts the calls of the ports, and names pods in the log. */
export function instrumentedPorts(ports: KubeletPorts, metrics: KubeletMetrics, podName: PodName): KubeletPorts {
  const { clock, api } = ports;
  const parts = { clock, runtimeMetrics: metrics.runtime, podMetrics: metrics.pods };
  const cgroupParts = { clock, metrics: metrics.node };
  return {
    ...ports,
    runtime: instrumentedRuntime(ports.runtime, parts),
    images: instrumentedImages(ports.images, parts),
    cgroups: (driver) => {
      const { pods, machine } = ports.cgroups(driver);
      return { pods: instrumentedCgroups(pods, cgroupParts), machine: instrumentedCgroups(machine, cgroupParts) };
    },
    api: api === undefined ? undefined : instrumentedClients(api, ports, metrics),
    logOf: (module) => podLog(ports.logOf(module), podName),
  };
}

function instrumentedClients(
  { main, heartbeats, events, ...rest }: NonNullable<KubeletPorts["api"]>,
  { clock }: KubeletPorts,
  metrics: KubeletMetrics,
): NonNullable<KubeletPorts["api"]> {
  const parts = { clock, metrics: metrics.api, host: rest.host };
  return {
    ...rest,
    main: instrumentedApi(main, parts),
    heartbeats: instrumentedApi(heartbeats, parts),
    events: instrumentedApi(events, parts),
  };
}

/** Loops that only measure, beside the loops that do the work. */
export function metricsLoops({ ports, cells, metrics }: Wiring): readonly Loop[] {
  const { clock, process } = ports;
  const { admittedPods, podOutcomes, pullsUnderWay, nodeRegistered, nodeSynced } = cells;
  return [
    (shutdown) =>
      watchPodLatencies({ clock, admittedPods, podOutcomes, pullsUnderWay, metrics: metrics.pods }, shutdown),
    async (shutdown) => {
      const begin = await process.begin();
      await watchNodeStartup({ clock, nodeRegistered, nodeSynced, begin, metrics: metrics.node.startup }, shutdown);
    },
  ];
}

const valuesOf = <V>(table: LatestTable<string, V>): readonly V[] =>
  table.keys().flatMap((key) => table.get(key) ?? []);

const gauge = <const Names extends readonly string[]>(name: string, labels: Names, help: string) =>
  ({ kind: "gauge", name, labels, help }) as const;

/** Metric families that show the contents of the cells. */
export function readCells(registry: Registry, cells: Cells, options: CompiledOptions): void {
  const { desiredPods, admittedPods, podOutcomes } = cells;
  registry.reads(gauge("kubelet_node_name", ["node"], "[ALPHA] The node's name. The count is always 1."), () => [
    [1, options.node.name],
  ]);
  registry.reads(
    gauge(
      "kubelet_desired_pods",
      ["static"],
      "[ALPHA] The number of pods the kubelet is being instructed to run. static is true if the pod is not from the apiserver.",
    ),
    () => desiredPodCounts(desiredPods.value),
  );
  registry.reads(
    gauge(
      "kubelet_active_pods",
      ["static"],
      "[ALPHA] The number of pods the kubelet considers active and which are being considered when admitting new pods. static is true if the pod is not from the apiserver.",
    ),
    () => activePodCounts(valuesOf(admittedPods), (uid) => podOutcomes.get(uid)),
  );
  registry.reads(gauge("kubelet_pod_pending_resizes", ["reason"], "[ALPHA] Number of pending resizes for pods."), () =>
    pendingResizeCounts(valuesOf(admittedPods)),
  );
  registry.reads(
    gauge("kubelet_pod_in_progress_resizes", [], "[ALPHA] Number of in-progress resizes for pods."),
    () => [[valuesOf(podOutcomes).filter(({ resize }) => resize !== undefined).length]],
  );
  registry.reads(
    gauge(
      "kubelet_mirror_pods",
      [],
      "[ALPHA] The number of mirror pods the kubelet will try to create (one per admitted static pod)",
    ),
    () => [[desiredPods.value.mirrors.size]],
  );
  registry.reads(
    gauge(
      "kubelet_working_pods",
      ["lifecycle", "config", "static"],
      "[ALPHA] Number of pods the kubelet is actually running, broken down by lifecycle phase, whether the pod is desired, orphaned, or runtime only (also orphaned), and whether the pod is static. An orphaned pod has been removed from local configuration or force deleted in the API and consumes resources that are not otherwise visible.",
    ),
    () => workingPodCounts(valuesOf(podOutcomes), (uid) => admittedPods.get(uid)),
  );
  readRuntimeCells(registry, cells);
}

function readRuntimeCells(registry: Registry, cells: Cells): void {
  const { desiredPods, admittedPods, podOutcomes, podRuntimeStatus, mountState, cgroups } = cells;
  registry.reads(gauge("kubelet_running_pods", [], "[ALPHA] Number of pods that have a running pod sandbox"), () => [
    [runningPodCount(valuesOf(podRuntimeStatus))],
  ]);
  registry.reads(
    gauge("kubelet_running_containers", ["container_state"], "[ALPHA] Number of containers currently running"),
    () => containerCounts(valuesOf(podRuntimeStatus)),
  );
  registry.reads(
    gauge(
      "kubelet_managed_ephemeral_containers",
      [],
      "[ALPHA] Current number of ephemeral containers in pods managed by this kubelet.",
    ),
    () => [[ephemeralContainerCount(desiredPods.value)]],
  );
  registry.reads(
    gauge("volume_manager_total_volumes", ["plugin_name", "state"], "[ALPHA] Number of volumes in Volume Manager"),
    () =>
      volumeCounts(
        valuesOf(admittedPods),
        (uid) => podOutcomes.get(uid),
        (uid) => mountState.get(uid),
        VOLUME_PLUGINS,
      ),
  );
  registry.reads(gauge("kubelet_cgroup_version", [], "[ALPHA] cgroup version on the hosts."), () =>
    cgroups.value === undefined ? [] : [[cgroups.value.pods.version]],
  );
}

/** Metric families whose values never change. */
export function readConstants(registry: Registry, { gates }: CompiledOptions): void {
  const [major = "", minor = ""] = KUBERNETES_VERSION.slice(1).split(".");
  const build = {
    major,
    minor,
    git_version: KUBERNETES_VERSION,
    git_commit: "deckhand",
    git_tree_state: "clean",
    build_date: "",
    go_version: "",
    compiler: "node",
    platform: `linux/${ARCHITECTURE}`,
  };
  registry.reads(
    {
      kind: "gauge",
      name: "kubernetes_build_info",
      labels: Object.keys(build),
      help: "[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
    },
    () => [[1, ...Object.values(build)]],
  );
  registry.reads(
    {
      kind: "gauge",
      name: "kubernetes_feature_enabled",
      labels: ["name", "stage"],
      help: "[BETA] This metric records the data about the stage and enablement of a k8s feature.",
    },
    () => Object.entries(gates).map(([name, on]) => [on ? 1 : 0, name, stageLabel(name as keyof typeof GATES)]),
  );
  registry.reads(
    {
      kind: "gauge",
      name: "kubelet_metrics_provider",
      labels: ["provider"],
      help: "[ALPHA] Metrics provider used by kubelet to collect container stats. Values can be 'cadvisor' and 'cri'",
    },
    () => [[1, "cadvisor"]],
  );
}

/** For GA gates the Go kubelet's stage label is empty. */
const stageLabel = (name: keyof typeof GATES): string => {
  const { stage } = GATES[name];
  return stage === "ga" ? "" : stage.toUpperCase();
};

/** What of the kubelet is counted: its ports with their calls counted, its cells read when somebody asks, and the watchers beside its loops. */
import type { Registry } from "../base/metrics/registry.ts";
import type { LatestTable } from "../concurrency/latest-table.ts";
import { countedApi } from "../controllers/metrics/counted-api.ts";
import { countedCgroups } from "../controllers/metrics/counted-cgroups.ts";
import { countedImages, countedRuntime } from "../controllers/metrics/counted-runtime.ts";
import { watchNodeStartup } from "../controllers/metrics/node-startup.ts";
import { watchPodLives } from "../controllers/metrics/pod-lives.ts";
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
import type { CompiledOptions } from "./options/compiled-options.ts";
import { GATES } from "./options/feature-gate-table.ts";
import { ARCHITECTURE, KUBERNETES_VERSION } from "./version.ts";
import type { Cells, KubeletPorts, Loop, Wiring } from "./wiring.ts";

export function countedPorts(ports: KubeletPorts, metrics: KubeletMetrics): KubeletPorts {
  const { clock, api } = ports;
  const parts = { clock, runtimeMetrics: metrics.runtime, podMetrics: metrics.pods };
  const countedBelow = { clock, metrics: metrics.node };
  return {
    ...ports,
    runtime: countedRuntime(ports.runtime, parts),
    images: countedImages(ports.images, parts),
    cgroups: (driver) => {
      const { pods, machine } = ports.cgroups(driver);
      return { pods: countedCgroups(pods, countedBelow), machine: countedCgroups(machine, countedBelow) };
    },
    api: api === undefined ? undefined : countedClients(api, ports, metrics),
  };
}

function countedClients(
  { main, heartbeats, events, ...rest }: NonNullable<KubeletPorts["api"]>,
  { clock }: KubeletPorts,
  metrics: KubeletMetrics,
): NonNullable<KubeletPorts["api"]> {
  const parts = { clock, metrics: metrics.api, host: rest.host };
  return {
    ...rest,
    main: countedApi(main, parts),
    heartbeats: countedApi(heartbeats, parts),
    events: countedApi(events, parts),
  };
}

/** Beside the loops that work. */
export function metricsLoops({ ports, cells, metrics }: Wiring): readonly Loop[] {
  const { clock, process } = ports;
  const { admittedPods, podOutcomes, pullsUnderWay, nodeRegistered, nodeSynced } = cells;
  return [
    (shutdown) => watchPodLives({ clock, admittedPods, podOutcomes, pullsUnderWay, metrics: metrics.pods }, shutdown),
    async (shutdown) => {
      const begin = await process.begin();
      await watchNodeStartup({ clock, nodeRegistered, nodeSynced, begin, metrics: metrics.node.startup }, shutdown);
    },
  ];
}

const valuesOf = <V>(table: LatestTable<string, V>): readonly V[] =>
  table.keys().flatMap((key) => table.get(key) ?? []);

/** Families that show what the cells hold. */
export function readCells(registry: Registry, cells: Cells, options: CompiledOptions): void {
  const { desiredPods, admittedPods, podOutcomes, podRuntimeStatus, mountState, cgroups } = cells;
  const gauge = <const Names extends readonly string[]>(name: string, labels: Names, help: string) =>
    ({ kind: "gauge", name, labels, help }) as const;
  registry.reads(gauge("kubelet_node_name", ["node"], "1, with the name of this node."), () => [
    [1, options.node.name],
  ]);
  registry.reads(gauge("kubelet_desired_pods", ["static"], "Pods that this node was given."), () =>
    desiredPodCounts(desiredPods.value),
  );
  registry.reads(gauge("kubelet_active_pods", ["static"], "Pods that may have something running here."), () =>
    activePodCounts(valuesOf(admittedPods), (uid) => podOutcomes.get(uid)),
  );
  registry.reads(
    gauge("kubelet_pod_pending_resizes", ["reason"], "Pods that wait for what their specs have come to want, by why."),
    () => pendingResizeCounts(valuesOf(admittedPods)),
  );
  registry.reads(
    gauge("kubelet_pod_in_progress_resizes", [], "Pods that were granted other resources and do not have them yet."),
    () => [[valuesOf(podOutcomes).filter(({ resize }) => resize !== undefined).length]],
  );
  registry.reads(gauge("kubelet_mirror_pods", [], "Mirrors that the API server shows of static pods."), () => [
    [desiredPods.value.mirrors.size],
  ]);
  registry.reads(
    gauge("kubelet_working_pods", ["lifecycle", "config", "static"], "Pods that have a worker, by what it does."),
    () => workingPodCounts(valuesOf(podOutcomes), (uid) => admittedPods.get(uid)),
  );
  registry.reads(gauge("kubelet_running_pods", [], "Pods whose sandbox is ready."), () => [
    [runningPodCount(valuesOf(podRuntimeStatus))],
  ]);
  registry.reads(gauge("kubelet_running_containers", ["container_state"], "Containers in the runtime."), () =>
    containerCounts(valuesOf(podRuntimeStatus)),
  );
  registry.reads(
    gauge("kubelet_managed_ephemeral_containers", [], "Ephemeral containers of the pods that this node was given."),
    () => [[ephemeralContainerCount(desiredPods.value)]],
  );
  registry.reads(
    gauge("volume_manager_total_volumes", ["plugin_name", "state"], "Volumes that pods want, and that are there."),
    () =>
      volumeCounts(
        valuesOf(admittedPods),
        (uid) => podOutcomes.get(uid),
        (uid) => mountState.get(uid),
        VOLUME_PLUGINS,
      ),
  );
  registry.reads(gauge("kubelet_cgroup_version", [], "The version of control groups on this machine."), () =>
    cgroups.value === undefined ? [] : [[cgroups.value.pods.version]],
  );
}

/** Families that stand from the start. */
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
    { kind: "gauge", name: "kubernetes_build_info", labels: Object.keys(build), help: "1, with what this is." },
    () => [[1, ...Object.values(build)]],
  );
  registry.reads(
    { kind: "gauge", name: "kubernetes_feature_enabled", labels: ["name", "stage"], help: "1 where a gate is on." },
    () => Object.entries(gates).map(([name, on]) => [on ? 1 : 0, name, stageLabel(name as keyof typeof GATES)]),
  );
  registry.reads(
    {
      kind: "gauge",
      name: "kubelet_metrics_provider",
      labels: ["provider"],
      help: "1, with whose names the figures of containers go by.",
    },
    () => [[1, "cadvisor"]],
  );
}

/** The Go kubelet has no word for what is there for good. */
const stageLabel = (name: keyof typeof GATES): string => {
  const { stage } = GATES[name];
  return stage === "ga" ? "" : stage.toUpperCase();
};

/** Reads everything that one sync of a running pod needs into one value. */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { allContainers } from "../../domain/pod/containers.ts";
import { containerLogPath, podLogDirectory, podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { PodSnapshot } from "../../domain/pod/pod-snapshot.ts";
import { mayRun, newestOf, type PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import { listIfThere } from "../../ports/host-files.ts";
import type { PodState } from "./pod-state.ts";
import { restoreActuated } from "./resize.ts";
import type { PodWorkerPorts, PodWorkerSettings, WorkerContext } from "./worker-options.ts";

export interface SeenPod {
  readonly state: PodState;
  readonly pod: Pod;
  readonly view: PodRuntimeView;
  readonly volumes: PodSnapshot["volumes"];
}

export async function readSnapshot(
  { state, pod, view, volumes }: SeenPod,
  { ports, cells: { probeResults }, settings }: WorkerContext,
): Promise<PodSnapshot> {
  const containers = allContainers(pod.spec);
  const restartFloor = new Map(state.containers.restartFloor);
  for (const container of containers) {
    if (newestOf(view, container.name) !== undefined) continue;
    const logged = await highestLog(pod, container.name, ports, settings);
    restartFloor.set(container.name, Math.max(restartFloor.get(container.name) ?? 0, logged + 1));
  }
  return {
    pod,
    initialStatus: state.initialStatus,
    view,
    wallMs: ports.clock.wallMs(),
    monotonicMs: ports.clock.monotonicMs(),
    backoffs: new Map(
      containers.flatMap((container) => {
        const entry = state.containers.backoffs.get(backoffKey(container));
        return entry === undefined ? [] : [[container.name, entry] as const];
      }),
    ),
    exitSeenMonotonicMs: state.containers.exitSeenMonotonicMs,
    knownExits: state.containers.knownExits,
    restartFloor,
    sandboxFloor: state.sandbox.attemptMin,
    volumes,
    postStartDue: state.containers.postStartDue,
    verdicts: new Map(
      view.containers.flatMap(({ id }) => {
        const result = probeResults.get(id);
        return result === undefined ? [] : [[id, result] as const];
      }),
    ),
    actuated: restoreActuated(state, pod, view),
    restartsForResize: state.resize.restarts,
    cgroupMissing: view.containers.some(mayRun) && !(await hasCgroup(state, pod, ports, settings)),
  };
}

/** The cgroup of running containers disappears only by mistake; this interval finds that within a minute. */
const CGROUP_SEEN_MS = 30_000;

async function hasCgroup(
  state: PodState,
  pod: Pod,
  { cgroups, clock }: Pick<PodWorkerPorts, "cgroups" | "clock">,
  settings: PodWorkerSettings,
): Promise<boolean> {
  if (clock.monotonicMs() - state.sandbox.cgroupSeenMonotonicMs < CGROUP_SEEN_MS) return true;
  const exists = await cgroups.exists(settings.resources.podCgroupName(pod));
  if (exists) state.sandbox.cgroupSeenMonotonicMs = clock.monotonicMs();
  return exists;
}

/** A changed image or changed resources start a new backoff. */
export const backoffKey = ({ name, image, resources }: Container): string =>
  JSON.stringify([name, image ?? "", resources ?? {}]);

/** The highest restart count among a container's log files; -1 if there are none. */
async function highestLog(
  pod: Pod,
  container: string,
  { files }: Pick<PodWorkerPorts, "files">,
  { podLogsDir }: PodWorkerSettings,
): Promise<number> {
  const directory = `${podLogDirectory(podLogsDir, podNameOfObject(pod))}/${containerLogPath(container, 0).split("/")[0]}`;
  const names = await listIfThere(files, directory);
  const numbers = names.map((file) => /^(?<count>\d{1,9})\.log/.exec(file)?.groups?.["count"]);
  return Math.max(-1, ...numbers.map((count) => (count === undefined ? -1 : Number(count))));
}

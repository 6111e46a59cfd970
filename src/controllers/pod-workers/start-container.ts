/**
 * Starts one container: pulls images, prepares directories, creates and starts. If a response was lost, the next
 * inspection of the runtime finds the result; nothing here tries twice.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { containerConfig } from "../../domain/container-config/container-config.ts";
import { NODE_USERS } from "../../domain/container-config/user-namespace.ts";
import { type MountableImages, mountableImages } from "../../domain/images/image-answer.ts";
import type { UnderWay } from "../../domain/images/pull-progress.ts";
import type { ContainerSpec } from "../../domain/pod/containers.ts";
import { containerLogPath, logLinkName, podLogDirectory, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { nextBackoff } from "../../domain/pod/restart-backoff.ts";
import { newestOf } from "../../domain/pod/runtime-view.ts";
import { hostAddresses, podAddresses } from "../../domain/pod-status/addresses.ts";
import type { ContainerConfig } from "../../domain/runtime/container.ts";
import { volumeGroups } from "../../domain/volumes/volume-groups.ts";
import { isNameTaken, RuntimeError } from "../../ports/runtime-error.ts";
import { ensureImageVolumes } from "../images/image-volumes.ts";
import { CONTAINER_CONTRIBUTORS } from "./container-contributors.ts";
import {
  type ContainerCreation,
  type ContainerStart,
  gatherInputs,
  type PodNetwork,
  type PodWork,
} from "./container-creation.ts";
import { ensureImage } from "./ensure-image.ts";
import { containerEventEmitter, type EmitEvent } from "./event-emitter.ts";
import { noteHook } from "./hooks.ts";
import { nameInJournal, type PodState } from "./pod-state.ts";
import { noteCreatedWith } from "./resize.ts";
import { backoffKey } from "./snapshot.ts";
import { NAME_TAKEN_RETRY_MS, StartFailure } from "./start-failure.ts";
import type { PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";

/**
 * Returns the container's ID, or the pull progress of an image. Rejects with a `StartFailure` or with the signal's
 * reason.
 */
export async function startContainer(
  start: ContainerStart,
  work: PodWork,
  signal: AbortSignal,
): Promise<string | UnderWay> {
  const { pod, containerSpec, restartCount, sandbox, sandboxConfig } = start;
  const { state, ports } = work;
  const { container } = containerSpec;
  const emit = containerEventEmitter(pod, containerSpec, ports);
  const volumes = await haveVolumeImages(start, work, emit, signal);
  if (volumes.kind === "underWay") return volumes.progress;
  const image = await ensureImage({ pod, container, sandbox: sandboxConfig }, state, ports, emit, signal);
  if (image.kind !== "present") return image;
  await noteRestart(start, work);
  let config: ContainerConfig;
  try {
    const network = await podNetworkOf(start, work.settings);
    config = await configure({ ...start, image, volumeImages: volumes.specs, network }, work, signal);
  } catch (error) {
    signal.throwIfAborted();
    emit("Warning", "Failed", `Error: ${errorText(error)}`);
    throw error instanceof StartFailure ? error : new StartFailure("CreateContainerConfigError", errorText(error));
  }
  noteCreatedWith(state, pod, container.name);
  let id: string;
  try {
    id = await ports.runtime.createContainer(sandbox.id, config, sandboxConfig, signal);
    countImageVolumes(volumes.specs.size, undefined, ports);
  } catch (error) {
    countImageVolumes(volumes.specs.size, error, ports);
    // If the name is taken, by a container or invisibly, only the next attempt number helps.
    const taken = isNameTaken(error);
    if (taken) state.containers.restartFloor.set(container.name, restartCount + 1);
    throw failure(error, "CreateContainerError", emit, signal, taken ? NAME_TAKEN_RETRY_MS : undefined);
  }
  emit("Normal", "Created", "Container created");
  await startCreated({ pod, containerSpec, id, restartCount }, work, signal);
  return id;
}

async function configure(creation: ContainerCreation, work: PodWork, signal: AbortSignal): Promise<ContainerConfig> {
  const { pod, containerSpec, restartCount, image, sandboxConfig } = creation;
  const { settings, cells, state } = work;
  const inputs = await gatherInputs(CONTAINER_CONTRIBUTORS, creation, work, signal);
  return containerConfig(pod, containerSpec.container, {
    restartCount,
    imageRef: image.ref,
    inputs,
    security: settings.security,
    identity: {
      volumeGroups: volumeGroups(pod, (key) => cells.referencedObjects.get(key)),
      users: sandboxConfig.security?.namespaces?.user ?? NODE_USERS,
    },
    targetId: targetOf(containerSpec, state),
    selinux: settings.selinux,
    stopSignals: settings.stopSignals,
  });
}

/** The text by which the runtime reports that the image of a volume could not be mounted. */
const IMAGE_VOLUME_FAILED = "ImageVolumeMountFailed";

function countImageVolumes(count: number, error: unknown, { imageMetrics }: PodWorkerPorts): void {
  const failed = error instanceof RuntimeError && error.detail.includes(IMAGE_VOLUME_FAILED);
  imageMetrics?.volumesRequested.add(count);
  (failed ? imageMetrics?.volumeErrors : imageMetrics?.volumesMounted)?.add(count);
}

/** Images of volumes come before the container's own image: without them nothing is reported about it. */
async function haveVolumeImages(
  { pod, containerSpec: { container }, sandboxConfig }: ContainerStart,
  { state, ports }: PodWork,
  emit: EmitEvent,
  signal: AbortSignal,
): Promise<Exclude<MountableImages, { kind: "refused" }>> {
  const answers = await ensureImageVolumes(pod, sandboxConfig, ports, state.sandbox.volumeImages, signal);
  const images = mountableImages(pod, container, answers);
  if (images.kind !== "refused") return images;
  for (const { reason } of images.all) emit("Warning", "Failed", `Error: ${reason}`);
  throw new StartFailure(images.last.reason, images.last.message, images.last.retryMs);
}

export interface CreatedContainer {
  readonly pod: Pod;
  readonly containerSpec: ContainerSpec;
  readonly id: string;
  readonly restartCount: number;
}

/** Starts a container that has been created. */
export async function startCreated(created: CreatedContainer, work: PodWork, signal: AbortSignal): Promise<void> {
  const { pod, containerSpec, id } = created;
  const { state, ports } = work;
  const { container } = containerSpec;
  const emit = containerEventEmitter(pod, containerSpec, ports);
  // Events of several runs are aggregated if their texts are equal.
  const named = (message: string) => message.replaceAll(id, container.name);
  if (container.lifecycle?.postStart !== undefined) {
    await noteHook({ container: container.name, containerId: id, hook: "postStartDue" }, state, ports);
    state.containers.postStartDue.add(id);
  }
  try {
    await ports.runtime.startContainer(id, signal);
  } catch (error) {
    throw failure(error, "RunContainerError", (type, reason, message) => emit(type, reason, named(message)), signal);
  }
  emit("Normal", "Started", "Container started");
  await linkLog(created, work);
}

/** From here on the start counts as a restart, whatever its result. */
async function noteRestart(
  { containerSpec: { container }, after }: ContainerStart,
  { state, ports, settings }: PodWork,
): Promise<void> {
  if (after === undefined) return;
  const { clock, journal } = ports;
  const [key, wallMs] = [backoffKey(container), clock.wallMs()];
  const entry = nextBackoff(state.containers.backoffs.get(key), after, wallMs, settings.backoffCapMs);
  const { uid } = state;
  const pod = nameInJournal(state, undefined);
  const { delayMs } = entry;
  await journal.append({ kind: "restarting", uid, pod, wallMs, container: container.name, what: key, delayMs });
  state.containers.backoffs.set(key, entry);
}

/** The target container of an ephemeral container. */
function targetOf({ role, container }: ContainerSpec, { view }: PodState): string | undefined {
  const target = role === "ephemeral" && "targetContainerName" in container ? container.targetContainerName : undefined;
  if (target === undefined || target === "") return undefined;
  const found = view === undefined ? undefined : newestOf(view, target);
  if (found === undefined) throw new Error(`unable to find target container ${target}`);
  return found.id;
}

async function podNetworkOf({ pod, sandbox }: ContainerStart, settings: PodWorkerSettings): Promise<PodNetwork> {
  const { status } = await settings.localNode();
  const hostIps = hostAddresses(status?.addresses ?? []);
  // Without hostNetwork take the IP from the sandbox; a published IP may belong to a previous one.
  const before = pod.spec?.hostNetwork === true ? (pod.status?.podIPs ?? []).map(({ ip }) => ip) : [];
  const podIps = podAddresses(pod, before, hostIps, sandbox.ips);
  return { podIps, hostIps, allocatable: status?.allocatable ?? {} };
}

/** Creates the symlink that log agents use. A container runs even if its log cannot be linked. */
async function linkLog(
  { pod, containerSpec: { container }, id, restartCount }: CreatedContainer,
  { ports: { files, log }, settings }: PodWork,
): Promise<void> {
  const name = podNameOfObject(pod);
  const target = `${podLogDirectory(settings.podLogsDir, name)}/${containerLogPath(container.name, restartCount)}`;
  try {
    await files.link(target, `${settings.containerLogLinks}/${logLinkName(name, container.name, id)}`);
  } catch (error) {
    log.error("Failed to link a container log", error, { container: container.name, uid: name.uid });
  }
}

function failure(
  error: unknown,
  reason: string,
  emit: (type: "Warning", reason: string, message: string) => void,
  signal: AbortSignal,
  retryMs?: number,
): unknown {
  signal.throwIfAborted();
  if (!(error instanceof RuntimeError)) return error;
  emit("Warning", "Failed", `Error: ${error.detail}`);
  return new StartFailure(reason, error.detail, retryMs);
}

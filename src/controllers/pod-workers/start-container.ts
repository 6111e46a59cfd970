/**
 * Starts one container: its image, its folders, create, start. Where a reply was lost the next look at the runtime finds what became
 * of it; nothing here tries twice.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { mountableImages, type PresentImage } from "../../domain/images/image-answer.ts";
import type { UnderWay } from "../../domain/images/pull-progress.ts";
import { mountsRecursivelyReadOnly } from "../../domain/node/runtime-health.ts";
import { commandOf, containerConfig } from "../../domain/pod/container-config.ts";
import { expandFully } from "../../domain/pod/environment/expand.ts";
import { containerLogPath, logLinkName, podFolder, podLogFolder, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { type ExitTime, nextBackoff } from "../../domain/pod/restart-backoff.ts";
import { hostAddresses, podAddresses } from "../../domain/pod-status/addresses.ts";
import type { ContainerConfig } from "../../domain/runtime/container.ts";
import type { ImageSpec } from "../../domain/runtime/image.ts";
import type { SandboxConfig, SandboxStatus } from "../../domain/runtime/sandbox.ts";
import { isNameTaken, RuntimeError } from "../../ports/runtime-error.ts";
import { ensureImageVolumes } from "../images/image-volumes.ts";
import { ensureImage } from "./ensure-image.ts";
import { makeEnvironment, type StartPlace } from "./make-environment.ts";
import type { PodState } from "./pod-state.ts";
import { prepareMounts } from "./prepare-mounts.ts";
import { backoffKey } from "./snapshot.ts";
import { NAME_TAKEN_RETRY_MS, StartFailure } from "./start-failure.ts";
import type { PodWorkerCells, PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";
import { writeHostsFile } from "./write-hosts-file.ts";

export interface ContainerStart {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  /** When it last ended. */
  readonly after: ExitTime | undefined;
  readonly sandbox: SandboxStatus;
  readonly sandboxConfig: SandboxConfig;
}

export type StartCells = Pick<PodWorkerCells, "services" | "referencedObjects" | "mountState" | "runtimeHealth">;

/** Answers with its id, or with how far its image is. Rejects with a `StartFailure`, or with the signal's reason. */
export async function startContainer(
  start: ContainerStart,
  state: PodState,
  ports: PodWorkerPorts,
  cells: StartCells,
  settings: PodWorkerSettings,
  signal: AbortSignal,
): Promise<string | UnderWay> {
  const { pod, container, restartCount, sandbox, sandboxConfig } = start;
  const tell = teller(pod, container, ports);
  const folders = makeFolders(start, ports, settings);
  let image: PresentImage | UnderWay;
  try {
    image = await ensureImage({ pod, container, sandbox: sandboxConfig }, state, ports, tell, signal);
  } finally {
    await folders;
  }
  const images = mountableImages(
    pod,
    container,
    await ensureImageVolumes(pod, sandboxConfig, ports, state.volumeImages, signal),
  );
  if (images.kind === "refused") {
    for (const { message } of images.all) tell("Warning", "Failed", `Error: ${message}`);
    throw new StartFailure(images.last.reason, images.last.message, images.last.retryMs);
  }
  if (image.kind !== "present") return image;
  if (images.kind === "underWay") return images.progress;
  noteRestart(start, state, ports, settings);
  let config: ContainerConfig;
  try {
    config = await configure(start, image, images.specs, state, ports, cells, settings, signal);
  } catch (error) {
    signal.throwIfAborted();
    tell("Warning", "Failed", `Error: ${errorText(error)}`);
    throw error instanceof StartFailure ? error : new StartFailure("CreateContainerConfigError", errorText(error));
  }
  let id: string;
  try {
    id = await ports.runtime.createContainer(sandbox.id, config, sandboxConfig, signal);
  } catch (error) {
    // Once a name is taken, by a container or by nothing that can be seen, only the next one helps.
    const taken = isNameTaken(error);
    if (taken) state.restartFloor.set(container.name, restartCount + 1);
    throw failure(error, "CreateContainerError", tell, signal, taken ? NAME_TAKEN_RETRY_MS : undefined);
  }
  tell("Normal", "Created", "Container created");
  await startCreated({ pod, container, id, restartCount }, ports, settings, signal);
  return id;
}

/** Starts a container that exists. */
export async function startCreated(
  {
    pod,
    container,
    id,
    restartCount,
  }: { readonly pod: Pod; readonly container: Container; readonly id: string; readonly restartCount: number },
  ports: PodWorkerPorts,
  settings: PodWorkerSettings,
  signal: AbortSignal,
): Promise<void> {
  const tell = teller(pod, container, ports);
  try {
    await ports.runtime.startContainer(id, signal);
  } catch (error) {
    throw failure(error, "RunContainerError", tell, signal);
  }
  tell("Normal", "Started", "Container started");
  await linkLog(pod, container, id, restartCount, ports, settings);
}

/** From here on it counts as a restart, whatever comes of it. */
function noteRestart(
  { container, after }: ContainerStart,
  { backoffs }: PodState,
  { clock }: PodWorkerPorts,
  { backoffCapMs }: PodWorkerSettings,
): void {
  if (after === undefined) return;
  const key = backoffKey(container);
  backoffs.set(key, nextBackoff(backoffs.get(key), after, clock.wallMs(), backoffCapMs));
}

const ownFolder = ({ pod, container }: ContainerStart, { rootDir }: PodWorkerSettings) =>
  `${podFolder(rootDir, podNameOfObject(pod).uid)}/containers/${container.name}`;

async function makeFolders(
  start: ContainerStart,
  { files }: PodWorkerPorts,
  settings: PodWorkerSettings,
): Promise<void> {
  const logs = podLogFolder(settings.podLogsDir, podNameOfObject(start.pod));
  await files.makeFolder(`${logs}/${start.container.name}`, 0o755);
  await files.makeFolder(ownFolder(start, settings), 0o750);
}

async function configure(
  start: ContainerStart,
  { ref, image }: PresentImage,
  volumeImages: ReadonlyMap<string, ImageSpec>,
  state: PodState,
  ports: PodWorkerPorts,
  cells: StartCells,
  settings: PodWorkerSettings,
  signal: AbortSignal,
): Promise<ContainerConfig> {
  const { files, random, clock } = ports;
  const { pod, container, restartCount } = start;
  const place = await placeOf(start, settings);
  const environment = await makeEnvironment(pod, container, place, state, cells, clock, signal);
  const words = commandOf(container, environment);
  if (words.kind === "noText") throw new StartFailure("CreateContainerError", words.message);
  const volumeMounts = await prepareMounts(
    {
      pod,
      container,
      rootDir: settings.rootDir,
      volumes: cells.mountState.get(podNameOfObject(pod).uid) ?? new Map(),
      recursiveReadOnly: mountsRecursivelyReadOnly(cells.runtimeHealth.value),
      volumeImages,
      expand: (text) => expandFully(text, environment),
    },
    ports,
    signal,
  );
  const hostsFile = await writeHostsFile(pod, container, place.podIps, files, settings);
  const terminationMessageFile = `${ownFolder(start, settings)}/${random.uuid().slice(0, 8)}`;
  await files.makeFile(terminationMessageFile, 0o666);
  return containerConfig(pod, container, {
    restartCount,
    imageRef: ref,
    imageUser: {
      ...(image?.uid === undefined ? {} : { uid: image.uid }),
      ...(image?.username === undefined ? {} : { username: image.username }),
    },
    resources: settings.resources.containerResources(pod, container.name),
    seccompDefault: settings.seccompDefault,
    terminationMessageFile,
    volumeMounts,
    environment,
    words,
    hostsFile,
  });
}

async function placeOf({ pod, sandbox }: ContainerStart, settings: PodWorkerSettings): Promise<StartPlace> {
  const { status } = await settings.localNode();
  const hostIps = hostAddresses(status?.addresses ?? []);
  // Off the node's network only the sandbox knows: what was told of an earlier one is of the past.
  const before = pod.spec?.hostNetwork === true ? (pod.status?.podIPs ?? []).map(({ ip }) => ip) : [];
  const podIps = podAddresses(pod, before, hostIps, sandbox.ips);
  return { podIps, hostIps, allocatable: status?.allocatable ?? {} };
}

/** Where log agents look. A container runs whether or not its log can be linked. */
async function linkLog(
  pod: Pod,
  container: Container,
  id: string,
  restartCount: number,
  { files, log }: PodWorkerPorts,
  settings: PodWorkerSettings,
): Promise<void> {
  const name = podNameOfObject(pod);
  const target = `${podLogFolder(settings.podLogsDir, name)}/${containerLogPath(container.name, restartCount)}`;
  try {
    await files.link(target, `${settings.containerLogLinks}/${logLinkName(name, container.name, id)}`);
  } catch (error) {
    log.error("a container's log could not be linked", error, { container: container.name, uid: name.uid });
  }
}

function failure(
  error: unknown,
  reason: string,
  tell: (type: "Warning", reason: string, message: string) => void,
  signal: AbortSignal,
  retryMs?: number,
): unknown {
  signal.throwIfAborted();
  if (!(error instanceof RuntimeError)) return error;
  tell("Warning", "Failed", `Error: ${error.message}`);
  return new StartFailure(reason, error.message, retryMs);
}

export function teller(pod: Pod, container: Container, { events }: Pick<PodWorkerPorts, "events">) {
  const { name, namespace, uid } = podNameOfObject(pod);
  const subject = { kind: "Pod", name, namespace, uid, fieldPath: `spec.containers{${container.name}}` } as const;
  return (type: "Normal" | "Warning", reason: string, message: string) => events.emit(subject, type, reason, message);
}

/**
 * Starts one container: its image, its folders, create, start. Where a reply was lost the next look at the runtime finds what became
 * of it; nothing here tries twice.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { containerConfig } from "../../domain/pod/container-config.ts";
import { containerLogPath, logLinkName, podFolder, podLogFolder, podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import { isNameTaken, RuntimeError } from "../../ports/runtime-error.ts";
import { ensureImage, type PresentImage } from "./ensure-image.ts";
import type { PodState } from "./pod-state.ts";
import { NAME_TAKEN_RETRY_MS, StartFailure } from "./start-failure.ts";
import type { PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";

export interface ContainerStart {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  readonly sandboxId: string;
  readonly sandboxConfig: SandboxConfig;
}

/** Answers with its id. Rejects with a `StartFailure`, or with the signal's reason. */
export async function startContainer(
  start: ContainerStart,
  state: PodState,
  ports: PodWorkerPorts,
  settings: PodWorkerSettings,
  signal: AbortSignal,
): Promise<string> {
  const { pod, container, restartCount, sandboxId, sandboxConfig } = start;
  const tell = teller(pod, container, ports);
  const folders = makeFolders(start, ports, settings);
  let image: PresentImage;
  try {
    image = await ensureImage(pod, container, sandboxConfig, state, ports, tell, signal);
  } finally {
    await folders;
  }
  const config = await configure(start, image, ports, settings);
  let id: string;
  try {
    id = await ports.runtime.createContainer(sandboxId, config, sandboxConfig, signal);
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
  { files, random }: PodWorkerPorts,
  settings: PodWorkerSettings,
) {
  const { pod, container, restartCount } = start;
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
  });
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
